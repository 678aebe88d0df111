/// The sockets of an engine: the interest of libcurl in each, and the events that the kernel watches. Pure: makes no system call.
///
/// # Invariants
/// 1. After the caller has performed the returned action, the kernel watches each socket for at least the interest of libcurl.
/// 2. A socket for which libcurl waits for nothing is one of an idle connection. It remains watched until its first event, which saves
///    two system calls for each request.
/// 3. A descriptor that was closed is not watched: the kernel forgets it. libcurl closes some sockets without a report, so that a
///    new socket can have the number of a known one: `opened` forgets it.
struct PollTable {
  struct Interest: OptionSet, Hashable {
    let rawValue: UInt8

    static let read = Interest(rawValue: 1)
    static let write = Interest(rawValue: 2)
  }

  /// What the caller does with the socket.
  enum Action: Equatable {
    case none
    case add(Interest)
    case change(Interest)
    case remove
  }

  private struct Entry {
    var wanted: Interest = []
    var watched: Interest = []
  }

  /// By descriptor, because descriptors are small numbers.
  private var entries: [Entry] = []

  /// Registers the interest of libcurl. The descriptor can be -1, which is no socket (`CURL_SOCKET_BAD`).
  mutating func interestChanged(_ interest: Interest, of descriptor: Int32) -> Action {
    guard descriptor >= 0 else { return .none }
    let index = Int(descriptor)
    if index >= entries.count {
      entries += Array(repeating: Entry(), count: max(64, index + 1 - entries.count, entries.count))
    }
    entries[index].wanted = interest
    let watched = entries[index].watched
    if interest == watched || interest.isEmpty && watched == .read { return .none }
    entries[index].watched = interest
    if interest.isEmpty { return .remove }
    return watched.isEmpty ? .add(interest) : .change(interest)
  }

  /// Registers an event of a socket.
  ///
  /// - Returns: `nil` if libcurl receives the event, and otherwise what the caller does with the socket.
  mutating func eventArrived(at descriptor: Int32) -> Action? {
    let index = Int(descriptor)
    guard index < entries.count else { return .remove }
    guard entries[index].wanted.isEmpty else { return nil }
    entries[index].watched = []
    return .remove
  }

  /// Registers that a descriptor belongs to a new socket, or to none.
  mutating func forget(_ descriptor: Int32) {
    if entries.indices.contains(Int(descriptor)) { entries[Int(descriptor)] = Entry() }
  }
}
