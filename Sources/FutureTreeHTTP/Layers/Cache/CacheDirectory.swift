import Foundation
import FutureTree

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
