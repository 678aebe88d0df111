import Foundation
import FutureTree

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Says when sockets can be read or written, by `poll` on a thread of its own.
///
/// It stands in the place of Dispatch sources: with those, libdispatch on Linux crashed (`_dispatch_event_loop_drain`) once in
/// some hundred thousand connections that their client reset.
///
/// # Invariants
/// 1. A watch is reported once, and is off then until it is set again.
/// 2. A socket may be closed once it was forgotten. What is reported of its number after that concerns a later socket with
///    the same number, which at worst is told once too often: sockets that never block stand that.
final class Poller: @unchecked Sendable {  // Because: what changes is in `state`.
  struct Readiness: OptionSet, Sendable {
    let rawValue: Int16
    static let readable = Readiness(rawValue: Int16(POLLIN))
    static let writable = Readiness(rawValue: Int16(POLLOUT))
  }

  private struct Watch {
    var awaited: Readiness
    let report: @Sendable (Readiness) -> Void
  }

  private struct State {
    var watches: [Int32: Watch] = [:]
    var isStopped = false
  }

  private let state = Locked(State())
  /// A byte written here wakes the thread.
  private let waking: (read: Int32, write: Int32)

  init() throws(LoopbackServerError) {
    waking = try Socket.pipe()
  }

  /// Watches until `stop`, on a thread that calls `ended` when it is done.
  func start(ended: @escaping @Sendable () -> Void) {
    Thread.detachNewThread { [self] in
      while poll() {}
      Socket.closeDescriptor(waking.read)
      Socket.closeDescriptor(waking.write)
      ended()
    }
  }

  func stop() {
    state.withLock { $0.isStopped = true }
    wake()
  }

  /// Reports once when the socket is ready, also when it failed: then it is ready for everything.
  func watch(_ descriptor: Int32, for awaited: Readiness, report: @escaping @Sendable (Readiness) -> Void) {
    let previous = state.withLock { state in
      let watch = state.watches[descriptor]
      state.watches[descriptor] = Watch(awaited: awaited.union(watch?.awaited ?? []), report: report)
      return watch
    }
    _ = previous  // Freed here, not under the lock.
    wake()
  }

  /// Wakes the thread, because a socket that is closed while `poll` has it lives until `poll` returns.
  func forget(_ descriptor: Int32) {
    let forgotten = state.withLock { $0.watches.removeValue(forKey: descriptor) }
    if forgotten != nil { wake() }
  }

  private func wake() {
    Socket.writeByte(to: waking.write)
  }

  /// Waits once for anything, and reports it. Returns false when the poller was stopped.
  private func poll() -> Bool {
    let watches = state.withLock { $0.isStopped ? nil : $0.watches }
    guard let watches else { return false }
    var entries = [pollfd(fd: waking.read, events: Int16(POLLIN), revents: 0)]
    for (descriptor, watch) in watches {
      entries.append(pollfd(fd: descriptor, events: watch.awaited.rawValue, revents: 0))
    }
    Socket.waitForAny(of: &entries)
    if entries[0].revents != 0 { Socket.drainPipe(waking.read) }
    for entry in entries.dropFirst() where entry.revents != 0 { report(entry) }
    return true
  }

  private func report(_ entry: pollfd) {
    let failure = Int16(POLLERR) | Int16(POLLHUP) | Int16(POLLNVAL)
    let fired: (watch: Watch, ready: Readiness)? = state.withLock { state in
      guard var watch = state.watches[entry.fd] else { return nil }
      let ready =
        entry.revents & failure != 0 ? watch.awaited : watch.awaited.intersection(Readiness(rawValue: entry.revents))
      watch.awaited.subtract(ready)
      state.watches[entry.fd] = watch.awaited.isEmpty ? nil : watch
      return (watch, ready)
    }
    if let fired, !fired.ready.isEmpty { fired.watch.report(fired.ready) }
  }
}
