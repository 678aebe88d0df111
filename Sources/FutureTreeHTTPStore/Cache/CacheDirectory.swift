import Foundation
import FutureTree
import FutureTreeHTTP

/// The responses of a cache in files. Changes are made one at a time by jobs of an executor, in the order of the calls.
///
///     lock                    locked while the cache exists
///     responses/key           the random key of the names
///     responses/<name>        a response: see `CacheFile`
///     removed-<number>/       responses that are being removed
///
/// # Invariants
/// 1. A response is read only if its slot is in the index. A slot is removed at once, its file later.
/// 2. A write of a slot that was removed before has no effect, or its file is removed by a later change.
/// 3. All responses are removed by one `rename`, after which their names are computed with another key.
final class CacheDirectory: Sendable {
  private struct File: Sendable {
    let name: String
    /// Whether the file has been written.
    var isWritten: Bool
  }

  private typealias Index = CacheIndex<String, File>

  private enum Change {
    case write(Index.Slot, CacheEntry)
    case remove(name: String)
    case removeAll(Promise<Void>)
    case flush(Promise<Void>)
  }

  private struct Guarded {
    var index: Index
    var names: CacheFile
    /// The number of wipes.
    var generation = 0
    var changes: [Change] = []
    /// The number of bytes of the responses in `changes`.
    var waitingSize = 0
    var isWorking = false
    /// Whether the key of the names is in its file. Used only by the job that makes the changes, like the fault.
    var hasKey: Bool
    /// The fault of the last write. Later faults are not reported until a write succeeds.
    var fault: HTTPError?

    mutating func remove(_ slot: Index.Slot) {
      guard slot.isStored else { return }
      index.remove(slot)
      changes.append(.remove(name: slot.element.name))
    }
  }

  private let folder: CacheFolder
  private let limits: HTTPCache.Limits
  private let executor: FutureExecutor
  private let onFault: @Sendable (HTTPError) -> Void
  private let guarded: Locked<Guarded>

  /// Locks the directory, and reads the names of its files.
  init(
    _ directory: URL, _ limits: HTTPCache.Limits, on executor: FutureExecutor, _ random: RandomSource,
    _ onFault: @escaping @Sendable (HTTPError) -> Void
  ) throws(HTTPError) {
    // JSON needs at most twice the bytes of a field.
    let maximumFileSize = 2 * min(limits.perEntry, 1 << 40) + 64 << 10
    folder = try CacheFolder(directory, maximumFileSize: maximumFileSize, random)
    let (key, files) = try folder.open(onFault)
    self.limits = limits
    self.executor = executor
    self.onFault = onFault
    var (index, removed) = (Index(maximumSize: limits.onDisk), [Change]())
    for file in files {
      let (url, user) = CacheFile.parts(of: file.name)
      let inserted = index.insert(
        File(name: file.name, isWritten: true), url, user, size: CacheEntry.baseSize + file.size)
      removed += inserted?.removed.map { .remove(name: $0.element.name) } ?? [.remove(name: file.name)]
    }
    guarded = Locked(Guarded(index: index, names: CacheFile(key: key ?? folder.makeKey()), hasKey: key != nil))
    change { [removed] in $0.changes = removed }
  }

  /// The size of all files, as it is limited.
  var size: Int { guarded.withLock { $0.index.size } }

  private var names: CacheFile { guarded.withLock { $0.names } }
}

// MARK: - Reading

extension CacheDirectory {
  /// Returns a future of the stored response that a request selects. Of several, the last stored one, as in
  /// ``CacheState/find(_:for:)``.
  ///
  /// - Returns: `nil` if there is none for the URL and the user.
  func read(_ key: CacheKey, for request: HTTPRequest) -> Future<CacheEntry?>? {
    let names = names
    let (url, user) = (names.url(key.url), names.user(key.credentials))
    let end = names.endWithoutVary
    let slots = guarded.withLock { guarded in
      let written = guarded.index[url, user].filter(\.element.isWritten).reversed()
      return written.filter { !$0.element.name.hasSuffix(end) } + written.filter { $0.element.name.hasSuffix(end) }
    }
    guard !slots.isEmpty else { return nil }
    return Future(on: executor) { [self] in
      for slot in slots {
        if let entry = read(slot, key, request, names) { return entry }
      }
      return nil
    }
    .recover { _ in nil }  // The executor dropped the job.
  }

  /// Reads a file, and removes it if it is damaged.
  private func read(_ slot: Index.Slot, _ key: CacheKey, _ request: HTTPRequest, _ names: CacheFile) -> CacheEntry? {
    let name = guarded.withLock { _ in slot.element.name }
    let entry: CacheEntry
    do throws(HTTPError) {
      guard let data = try folder.response(name).read() else {
        // The platform may empty directories of caches.
        guarded.withLock { $0.index.remove(slot) }
        return nil
      }
      guard let decoded = CacheFile.decode(data, name: name, key, request) else {
        throw HTTPError(
          .storeFailed, "A file of the cache is damaged. It is removed, and the response is loaded again.")
      }
      entry = decoded
    } catch {
      if remove([slot]) { onFault(error) }
      return nil
    }
    guard names.name(of: entry) == name else { return nil }
    let isStored = guarded.withLock { guarded in
      guarded.index.use(slot)
      return slot.isStored
    }
    if isStored { folder.use(name) }
    return isStored ? entry : nil
  }
}

// MARK: - Changes

extension CacheDirectory {
  /// Stores a response instead of the one with the same name and those of `others`, unless all responses were removed since
  /// `generation`.
  ///
  /// - Returns: Whether it will be written.
  func store(_ entry: CacheEntry, replacing others: [CacheEntry], generation: Int) -> Bool {
    guard entry.size <= limits.perEntry else { return false }
    let names = names
    let name = names.name(of: entry)
    let replacedNames = others.map(names.name).filter { $0 != name }
    let (url, user) = CacheFile.parts(of: name)
    return change { guarded in
      guard guarded.generation == generation, guarded.names == names else { return false }
      for slot in guarded.index[url, user] where replacedNames.contains(slot.element.name) { guarded.remove(slot) }
      let others = guarded.index[url, user]
      let replaced = others.first { $0.element.name == name }
      if let replaced { guarded.index.remove(replaced) }
      // A disk that is slower than the network must not fill the memory.
      guard guarded.waitingSize + entry.size <= max(limits.total, limits.perEntry),
        let (slot, evicted) = guarded.index.insert(
          File(name: name, isWritten: false), url, user, size: entry.size)
      else {
        if replaced != nil { guarded.changes.append(.remove(name: name)) }
        return false
      }
      guarded.changes += evicted.map { .remove(name: $0.element.name) }
      if replaced == nil, others.count >= CacheState.maximumVariantCount, let oldest = Index.oldest(of: others) {
        guarded.remove(oldest)
      }
      guarded.waitingSize += entry.size
      guarded.changes.append(.write(slot, entry))
      return true
    }
  }

  /// Removes the responses for a URL, those of all users.
  func remove(_ url: String) {
    let url = names.url(url)
    remove(guarded.withLock { $0.index[url] })
  }

  /// - Returns: Whether one of the slots was stored.
  @discardableResult
  private func remove(_ slots: [Index.Slot]) -> Bool {
    change { guarded in
      let stored = slots.filter(\.isStored)
      for slot in stored { guarded.remove(slot) }
      return !stored.isEmpty
    }
  }

  /// Removes all responses.
  func removeAll() -> Future<Void> {
    let (promise, key) = (Promise<Void>(), folder.makeKey())
    change { guarded in
      guarded.index.removeAll()
      guarded.names = CacheFile(key: key)
      guarded.generation += 1
      guarded.changes.append(.removeAll(promise))
    }
    return promise.future.shielded()
  }

  /// Returns a future that completes when all earlier changes have been made.
  func flush() -> Future<Void> {
    let promise = Promise<Void>()
    change { $0.changes.append(.flush(promise)) }
    return promise.future.shielded()
  }
}

// MARK: - The job

extension CacheDirectory {
  /// Changes the state, and begins a job that makes the changes of the files, unless one is running.
  @discardableResult
  private func change<Value>(_ body: (inout Guarded) -> Value) -> Value {
    let (value, begins) = guarded.withLock { guarded in
      let value = body(&guarded)
      let begins = !guarded.isWorking && !guarded.changes.isEmpty
      if begins { guarded.isWorking = true }
      return (value, begins)
    }
    if begins {
      Future(on: executor) { [self] in makeChanges() }.observe { [self] outcome in
        if case .failure(let error) = outcome { abandon(error) }
      }
    }
    return value
  }

  private func makeChanges() {
    while true {
      let changes = guarded.withLock { guarded in
        defer { guarded.changes = [] }
        guarded.isWorking = !guarded.changes.isEmpty
        return guarded.changes
      }
      guard !changes.isEmpty else { return }
      for change in changes { make(change) }
    }
  }

  private func make(_ change: Change) {
    switch change {
    case .write(let slot, let entry):
      write(slot, entry)
      guarded.withLock { $0.waitingSize -= entry.size }
    case .remove(let name):
      do throws(HTTPError) { try folder.response(name).unlinkFile() } catch { report(error) }
    case .removeAll(let promise):
      guarded.withLock { $0.hasKey = false }
      do throws(HTTPError) {
        try folder.removeAll()
        promise.succeed()
      } catch {
        report(error)
        promise.fail(error)
      }
    case .flush(let promise):
      if let fault = guarded.withLock({ $0.fault }) { promise.fail(fault) } else { promise.succeed() }
    }
  }

  private func write(_ slot: Index.Slot, _ entry: CacheEntry) {
    let (isStored, name, key, hasKey) = guarded.withLock { guarded in
      (slot.isStored, slot.element.name, guarded.names.key, guarded.hasKey)
    }
    guard isStored else { return }
    let file = folder.response(name)
    do throws(HTTPError) {
      // The platform may have removed the key.
      if !hasKey || !folder.hasKey { try folder.writeKey(key) }
      guard let data = try? CacheFile.encode(entry, name: name) else { throw file.failed("cannot be encoded") }
      try file.write(data)
      guarded.withLock { guarded in
        (guarded.hasKey, guarded.fault) = (true, nil)
        slot.element.isWritten = true
      }
    } catch {
      try? file.unlinkFile()  // The file of an earlier response.
      guarded.withLock { $0.index.remove(slot) }
      report(error)
    }
  }

  /// Reports the first of several faults in a row.
  private func report(_ fault: HTTPError) {
    let isFirst = guarded.withLock { guarded in
      defer { guarded.fault = fault }
      return guarded.fault == nil
    }
    if isFirst { onFault(fault) }
  }

  /// Ends the changes whose job was dropped by its executor.
  private func abandon(_ error: any Error) {
    let changes = guarded.withLock { guarded in
      defer { (guarded.changes, guarded.waitingSize, guarded.isWorking) = ([], 0, false) }
      return guarded.changes
    }
    for case .removeAll(let promise) in changes { promise.fail(error) }
    for case .flush(let promise) in changes { promise.fail(error) }
  }
}

/// The files and names of the directory of a cache. Locks the directory while it exists.
final class CacheFolder: Sendable {
  private let directory: URL
  private let maximumFileSize: Int
  private let random: RandomSource
  private let lock: PrivateFile.Lock

  private var responses: URL { directory.appendingPathComponent("responses") }

  init(_ directory: URL, maximumFileSize: Int, _ random: RandomSource) throws(HTTPError) {
    guard directory.isFileURL else {
      throw HTTPError(.storeFailed, "The directory of the cache has a URL that is not a file URL. Use a file URL.")
    }
    let file = PrivateFile(
      directory.appendingPathComponent("lock"), name: "lock of the cache", code: .storeFailed, random: random)
    guard let lock = try file.lock() else {
      throw HTTPError(
        .storeFailed,
        "The directory of the cache is in use by another cache. Use one directory for each cache and each process.")
    }
    self.directory = directory
    self.maximumFileSize = maximumFileSize
    self.random = random
    self.lock = lock
  }

  func response(_ name: String) -> PrivateFile {
    PrivateFile(
      responses.appendingPathComponent(name), name: "file of the cache", code: .storeFailed,
      maximumSize: maximumFileSize, random: random)
  }

  /// Counts a response as used, for a later process.
  func use(_ name: String) {
    utimes(responses.appendingPathComponent(name).path, nil)
  }
}

// MARK: - The key

extension CacheFolder {
  private static let keySize = 32

  func makeKey() -> [UInt8] { random.bytes(CacheFolder.keySize) }

  /// Whether there is a file of the key.
  var hasKey: Bool { access(responses.appendingPathComponent("key").path, F_OK) == 0 }

  func writeKey(_ key: [UInt8]) throws(HTTPError) { try response("key").write(Data(key)) }

  /// Returns the key of the names, or `nil` if there are no usable responses.
  private func readKey(_ onFault: (HTTPError) -> Void) throws(HTTPError) -> [UInt8]? {
    let key = try response("key").read()
    if let key, key.count == CacheFolder.keySize { return [UInt8](key) }
    if key != nil {
      onFault(HTTPError(.storeFailed, "The key of the cache is damaged. The stored responses are removed."))
    }
    try removeAll()
    return nil
  }
}

// MARK: - All files

extension CacheFolder {
  struct File {
    let name: String
    let size: Int
    let lastUse: Double
  }

  /// Returns the key of the names, and the responses in the order of their last use. Removes what a crash left.
  func open(_ onFault: (HTTPError) -> Void) throws(HTTPError) -> (key: [UInt8]?, files: [File]) {
    try removeRenamed()
    guard let key = try readKey(onFault) else { return (nil, []) }
    var files: [File] = []
    for name in CacheFolder.contents(of: responses) {
      let path = responses.appendingPathComponent(name).path
      var status = stat()
      if name.hasPrefix(".") {
        unlink(path)
      } else if CacheFile.isName(name), lstat(path, &status) == 0 {
        files.append(File(name: name, size: Int(status.st_size), lastUse: status.changed))
      }
    }
    return (key, files.sorted { $0.lastUse < $1.lastUse })
  }

  /// Removes all responses. One call gives their directory another name, so that a crash leaves all or none.
  func removeAll() throws(HTTPError) {
    let number = ASCII.hexadecimal(random.bytes(8))
    guard rename(responses.path, directory.appendingPathComponent("removed-\(number)").path) == 0 else {
      if errno == ENOENT { return }
      throw response("").failed("cannot be removed", errno)
    }
    try removeRenamed()
  }

  private func removeRenamed() throws(HTTPError) {
    for name in CacheFolder.contents(of: directory) where name.hasPrefix("removed-") {
      do { try FileManager.default.removeItem(at: directory.appendingPathComponent(name)) } catch {
        throw response("").failed("cannot be removed")
      }
    }
  }

  private static func contents(of directory: URL) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
  }
}

extension stat {
  /// The time of the last change, in seconds.
  fileprivate var changed: Double {
    #if canImport(Darwin)
      let time = st_mtimespec
    #else
      let time = st_mtim
    #endif
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}

/// The names and the content of the files of a cache. Pure.
///
/// The name of a file is made of digests of the URL, of the credentials, and of the fields that `Vary` selects. Each is computed
/// with the random key of the directory, so that a name does not show them and that a removed key makes all files unusable.
///
/// The content is sealed by `Data.sealed(as:name:)`. Its first line is the head, as JSON. The body follows.
struct CacheFile: Sendable, Equatable {
  private struct Head: Codable {
    let status: Int
    /// Names and values, in turn.
    let fields: [String]
    let asked: Double
    let answered: Double
    let marks: UInt8
  }

  static let format = "FutureTree response 1"
  private static let digestLength = 32
  private static let nameLength = 3 * digestLength + 2

  let key: [UInt8]

  /// The part of a name that all responses for a URL share.
  func url(_ url: String) -> String { digest(["url", url]) }

  /// The part of a name that all responses for a user share.
  func user(_ credentials: [String]) -> String { digest(["user"] + credentials) }

  func name(of entry: CacheEntry) -> String {
    let fields = entry.selectors.flatMap { ["field", $0.name] + $0.elements }
    return [url(entry.key.url), user(entry.key.credentials), digest(fields)].joined(separator: "-")
  }

  /// The end of the name of a response that depends on no fields of the request.
  var endWithoutVary: String { digest([]) }

  /// Returns whether a name can be that of a response.
  static func isName(_ name: String) -> Bool {
    name.utf8.count == nameLength && name.utf8.allSatisfy { ASCII.isHexDigit($0) || $0 == UInt8(ascii: "-") }
  }

  /// The parts of a valid name that `url(_:)` and `user(_:)` return.
  static func parts(of name: String) -> (url: String, user: String) {
    (String(name.prefix(digestLength)), String(name.dropFirst(digestLength + 1).prefix(digestLength)))
  }

  static func encode(_ entry: CacheEntry, name: String) throws -> Data {
    let head = Head(
      status: entry.status.code, fields: entry.headers.flatMap { [$0.name, $0.value] }, asked: entry.times.asked,
      answered: entry.times.answered, marks: entry.marks.rawValue)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try encoder.encode(head) + Data("\n".utf8) + entry.body).sealed(as: format, name: name)
  }

  /// Returns the response in a file, if it answers `request`.
  ///
  /// - Returns: `nil` for a damaged file.
  static func decode(_ data: Data, name: String, _ key: CacheKey, _ request: HTTPRequest) -> CacheEntry? {
    guard let rest = data.unsealed(as: format, name: name), let endOfHead = rest.firstIndex(of: UInt8(ascii: "\n")),
      let head = try? JSONDecoder().decode(Head.self, from: Data(rest[..<endOfHead])),
      (100...999).contains(head.status), head.fields.count.isMultiple(of: 2)
    else { return nil }
    let fields = stride(from: 0, to: head.fields.count, by: 2)
    guard let headers = try? HTTPHeaders(fields.map { try .init(received: head.fields[$0], head.fields[$0 + 1]) })
    else {
      return nil
    }
    return CacheEntry(
      request, key, status: HTTPStatus(head.status), headers: headers, CacheControl(headers),
      body: Data(rest[endOfHead...].dropFirst()), marks: HTTPResponse.Marks(rawValue: head.marks),
      CacheEntry.Times(asked: head.asked, answered: head.answered))
  }

  /// Returns a digest of the key and the texts, in hexadecimal. The length of each text is part of it.
  private func digest(_ texts: [String]) -> String {
    var bytes = key
    for text in texts { bytes += "\(text.utf8.count):\(text)".utf8 }
    return String(ASCII.hexadecimal(sha256(of: bytes)).prefix(CacheFile.digestLength))
  }
}

/// Elements of a cache by URL and user, with a maximum size. The elements that were not used for the longest time are removed
/// first. Pure: takes no lock, reads no clock.
struct CacheIndex<User: Hashable & Sendable, Element: Sendable>: Sendable {
  /// An element, and when it was used last. Guarded like the index.
  final class Slot: HeapElement, @unchecked Sendable {  // Because: its variables are guarded like the index.
    var position: Int?
    let url: String
    let user: User
    let size: Int
    var element: Element
    fileprivate var lastUse: Int

    fileprivate init(_ element: Element, _ url: String, _ user: User, _ size: Int, _ lastUse: Int) {
      self.element = element
      self.url = url
      self.user = user
      self.size = size
      self.lastUse = lastUse
    }

    /// Whether the slot is still in its index.
    var isStored: Bool { position != nil }

    func isBefore(_ other: Slot) -> Bool { lastUse < other.lastUse }
  }

  private let maximumSize: Int
  private var slots: [String: [User: [Slot]]] = [:]
  /// The slot that was not used for the longest time comes first.
  private var uses = Heap<Slot>()
  private var useCount = 0

  /// The number of bytes of all elements.
  private(set) var size = 0
  var count: Int { uses.count }

  init(maximumSize: Int) {
    self.maximumSize = maximumSize
  }

  /// Returns the slots for a URL and a user, in the order of their insertion.
  subscript(url: String, user: User) -> [Slot] { slots[url]?[user] ?? [] }

  /// Returns the slots for a URL, those of all users.
  subscript(url: String) -> [Slot] { slots[url]?.values.flatMap(\.self) ?? [] }

  /// Whether there are slots for a URL.
  func contains(_ url: String) -> Bool { slots[url] != nil }

  /// Counts an element as used.
  ///
  /// - Complexity: O(log n), like the following methods.
  mutating func use(_ slot: Slot) {
    guard slot.isStored else { return }
    uses.remove(slot)
    slot.lastUse = nextUse()
    uses.insert(slot)
  }

  /// Inserts an element, and removes others if there are too many bytes.
  ///
  /// - Returns: The slot of the element, and the removed slots. `nil` if the element alone is too large.
  mutating func insert(_ element: Element, _ url: String, _ user: User, size: Int) -> (slot: Slot, removed: [Slot])? {
    guard size <= maximumSize else { return nil }
    let slot = Slot(element, url, user, size, nextUse())
    slots[url, default: [:]][user, default: []].append(slot)
    uses.insert(slot)
    self.size += size
    var removed: [Slot] = []
    while self.size > maximumSize, let oldest = uses.first {
      remove(oldest)
      removed.append(oldest)
    }
    return (slot, removed)
  }

  /// Removes a slot, if it is stored.
  mutating func remove(_ slot: Slot) {
    guard slot.isStored else { return }
    uses.remove(slot)
    size -= slot.size
    var users = slots.removeValue(forKey: slot.url) ?? [:]
    let others = users.removeValue(forKey: slot.user)?.filter { $0 !== slot } ?? []
    if !others.isEmpty { users[slot.user] = others }
    if !users.isEmpty { slots[slot.url] = users }
  }

  /// Removes all slots.
  ///
  /// - Complexity: O(n).
  mutating func removeAll() {
    uses.removeAll { _ in true }
    self = CacheIndex(maximumSize: maximumSize)
  }

  /// The slot, of those given, that was not used for the longest time.
  static func oldest(of slots: [Slot]) -> Slot? { slots.min { $0.isBefore($1) } }

  private mutating func nextUse() -> Int {
    useCount += 1
    return useCount
  }
}
