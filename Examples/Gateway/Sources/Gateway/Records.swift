import FutureTree
import FutureTreeTesting
import NIOConcurrencyHelpers
import NIOCore

/// What a service has open: connections of clients, requests and timers. It also records how the requests end.
final class Records: FutureClock {
  struct Counts: Hashable, CustomStringConvertible {
    var connections = 0
    var requests = 0
    var timers = 0

    var description: String { "open: connections \(connections), requests \(requests), timers \(timers)" }
  }

  private struct State {
    var counts = Counts()
    var works: [Future<String>] = []
    var waiters: [(isReached: @Sendable (Counts) -> Bool, promise: Promise<Void>)] = []
  }

  private let state = NIOLockedValueBox(State())
  private let time = ManualClock()

  var counts: Counts { state.withLockedValue { $0.counts } }

  /// The work of each request, in the order in which the requests arrived.
  var works: [Future<String>] { state.withLockedValue { $0.works } }

  func opened(_ count: WritableKeyPath<Counts, Int> & Sendable) { change { $0.counts[keyPath: count] += 1 } }

  func closed(_ count: WritableKeyPath<Counts, Int> & Sendable) { change { $0.counts[keyPath: count] -= 1 } }

  func begin(_ work: Future<String>) {
    state.withLockedValue { $0.works.append(work) }
    opened(\.requests)
    work.observe { _ in self.closed(\.requests) }
  }

  func forgetWorks() { state.withLockedValue { $0.works = [] } }

  /// Returns a future that completes when the counts satisfy a condition.
  func reaching(_ isReached: @escaping @Sendable (Counts) -> Bool) -> Future<Void> {
    let promise = Promise<Void>()
    change { $0.waiters.append((isReached, promise)) }
    return promise.future
  }

  private func change(_ body: (inout State) -> Void) {
    let reached = state.withLockedValue { state in
      body(&state)
      let counts = state.counts
      let reached = state.waiters.filter { $0.isReached(counts) }
      state.waiters.removeAll { $0.isReached(counts) }
      return reached.map(\.promise)
    }
    for promise in reached { promise.succeed(()) }
  }

  // MARK: - The clock of deadlines, which only the program advances

  var now: Duration { time.now }

  func schedule(after duration: Duration, _ body: @escaping @Sendable () -> Void) -> FutureTimer {
    let isOpen = NIOLockedValueBox(true)
    let close: @Sendable () -> Void = {
      let wasOpen = isOpen.withLockedValue { isOpen in
        defer { isOpen = false }
        return isOpen
      }
      if wasOpen { self.closed(\.timers) }
    }
    let timer = time.schedule(after: duration) {
      close()
      body()
    }
    opened(\.timers)
    return FutureTimer {
      timer.cancel()
      close()
    }
  }

  func advance(by duration: Duration) { time.advance(by: duration) }
}

/// Records that a connection is open.
final class ConnectionRecorder: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = NIOAny

  private let records: Records

  init(_ records: Records) {
    self.records = records
  }

  func handlerAdded(context: ChannelHandlerContext) {
    let records = records
    records.opened(\.connections)
    context.channel.closeFuture.whenComplete { _ in records.closed(\.connections) }
  }
}
