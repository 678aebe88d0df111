import Foundation
import FutureTree
import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("StreamState") struct StreamStateTests {
  @Test("Each event has its action in each state", arguments: StreamRun.states)
  func table(state: String, path: [StreamRun.Event], row: [String]) {
    let results = StreamRun.Event.allCases.map { event in
      var run = StreamRun()
      for step in path { run.handle(step) }
      return run.handle(event)
    }

    expectEqual(results, row, "\(state)")
  }

  @Test("Every sequence of four events keeps the invariants", arguments: StreamRun.Event.allCases)
  func sequences(first: StreamRun.Event) {
    var faults: [String] = []
    for second in StreamRun.Event.allCases {
      for third in StreamRun.Event.allCases {
        for fourth in StreamRun.Event.allCases {
          let path = [first, second, third, fourth]
          var run = StreamRun()
          for event in path { run.handle(event) }
          run.drain()
          if let fault = run.fault { faults.append("\(path): \(fault)") }
        }
      }
    }

    #expect(faults.isEmpty, "\(faults.prefix(5))")
  }

  @Test("Every pair of events in every state keeps the invariants", arguments: StreamRun.states)
  func pairs(state: String, path: [StreamRun.Event], row: [String]) {
    var faults: [String] = []
    for first in StreamRun.Event.allCases {
      for second in StreamRun.Event.allCases {
        var run = StreamRun()
        for event in path + [first, second] { run.handle(event) }
        run.drain()
        if let fault = run.fault { faults.append("\(first), \(second): \(fault)") }
      }
    }

    #expect(faults.isEmpty, "\(state): \(faults.prefix(5))")
  }

  @Test("A transport with back-pressure pauses at the level, and continues at half of it")
  func backPressure() {
    let request = HTTPRequest.feed
    var state = StreamState(.init(request: request, bufferLimit: 8), now: .zero)
    _ = state.received(Data(count: 3), now: .zero)
    #expect(state.hasRoom)
    _ = state.received(Data(count: 1), now: .zero)
    #expect(!state.hasRoom && state.pauses())

    let reads = [state.read(now: .zero), state.read(now: .zero)]

    expectEqual(reads.map(\.actions.notifiesRoom), [true, false])
    #expect(state.hasRoom && !state.pauses())
  }

  @Test("A chunk for which the buffer has room is accepted whatever its size, and the next is not")
  func largeChunk() {
    var state = StreamState(.init(request: .feed, bufferLimit: 8), now: .zero)
    #expect(state.received(Data(count: 100), now: .zero).end == nil)
    #expect(!state.hasRoom)

    #expect(state.received(Data(count: 1), now: .zero).stopsTransport)
  }

  @Test("Many small chunks are joined while they wait, in order")
  func smallChunks() {
    var state = StreamState(.init(request: .feed, bufferLimit: 1 << 20), now: .zero)
    let bytes = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    for index in bytes.indices { _ = state.received(bytes[index...index], now: .zero) }

    var (read, count) = (Data(), 0)
    while state.hasUnread, case .chunk(let chunk)? = state.read(now: .zero).delivery {
      read += chunk
      count += 1
    }

    expectEqual(read, bytes)
    #expect(count < 100)
  }

  @Test("The idle-read timeout counts from the last read, and not while the reader waits")
  func idleReadTimeout() {
    var state = StreamState(
      .init(request: .feed, bufferLimit: 8, idleReadTimeout: .seconds(60)), now: .seconds(100))
    expectEqual(state.idleTimerFired(now: .seconds(159)).again, .seconds(1))

    _ = state.read(now: .seconds(159))
    expectEqual(state.idleTimerFired(now: .seconds(500)).again, .seconds(60))

    _ = state.received(Data(count: 1), now: .seconds(510))
    expectEqual(state.idleTimerFired(now: .seconds(560)).again, .seconds(10))
    let fired = state.idleTimerFired(now: .seconds(570))
    #expect(fired.again == nil && fired.actions.stopsTransport)
    expectEqual((state.end?.error as? HTTPError)?.code, .bodyNotRead)
  }
}

extension HTTPRequest {
  static var feed: HTTPRequest {
    // swift-format-ignore: NeverUseForceTry
    try! HTTPRequest("http://example.com/feed")
  }
}

extension Outcome {
  fileprivate var error: (any Error)? {
    if case .failure(let error) = self { error } else { nil }
  }
}
