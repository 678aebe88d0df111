import Foundation
import FutureTree

/// Reports when sockets can be read or written, with `poll` on its own thread.
///
/// It replaces Dispatch sources: with those, libdispatch on Linux crashes in `_dispatch_event_loop_drain` about once
/// in 100,000 connections that the client resets.
///
/// # Invariants
/// 1. A watch reports once and is then removed, until it is set again.
/// 2. A socket can be closed after `forget`. A later report for its number concerns a new socket with that number, which then
///    gets one report too many. Sockets that never block tolerate that.
/// 3. The pipe is written under the lock, and never once `isStopped` is set. The thread closes it only then: a later write would
///    reach another file with the same number, or end the process with SIGPIPE.
final class Poller: @unchecked Sendable {  // Because: all mutable state is in `state`.
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
  /// The pipe that wakes the thread: `poll` returns when a byte is written.
  private let waking: (read: Int32, write: Int32)

  init() throws(LoopbackServerError) {
    waking = try Socket.pipe()
  }

  /// Runs the poll loop on a new thread until `stop`, and then calls `ended`.
  func start(ended: @escaping @Sendable () -> Void) {
    Thread.detachNewThread { [self] in
      while poll() {}
      Socket.closeDescriptor(waking.read)
      Socket.closeDescriptor(waking.write)
      ended()
    }
  }

  func stop() {
    state.withLock { state in
      wake(state)
      state.isStopped = true
    }
  }

  /// Reports once when the socket is ready. A socket that failed is reported as ready for everything.
  func watch(_ descriptor: Int32, for awaited: Readiness, report: @escaping @Sendable (Readiness) -> Void) {
    state.release { state in
      let watch = state.watches[descriptor]
      state.watches[descriptor] = Watch(awaited: awaited.union(watch?.awaited ?? []), report: report)
      wake(state)
      return watch
    }
  }

  /// Removes the watch and wakes the thread: a socket that is closed during `poll` stays open until `poll` returns.
  func forget(_ descriptor: Int32) {
    state.release { state in
      let forgotten = state.watches.removeValue(forKey: descriptor)
      if forgotten != nil { wake(state) }
      return forgotten
    }
  }

  private func wake(_ state: State) {
    if !state.isStopped { Socket.writeByte(to: waking.write) }
  }

  /// Waits for events once and reports them. Returns `false` when the poller is stopped.
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
