import Foundation
import FutureTree
import FutureTreePictures
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Event log: sequence diagrams") struct LogDrawingTests {
  private let clock = ManualClock()

  @Test("A sequence diagram has an arrow for each wait and for each delivered outcome")
  func mermaid() {
    let log = FutureLog(clock: clock)
    let promise = Promise<Int>()
    promise.future.named("load").logged(in: log)
    let page = promise.future.map { $0 }.named("page")
    clock.advance(by: .seconds(2))
    promise.succeed(1)

    expectEqual(
      log.mermaid(),
      """
      sequenceDiagram
        participant f1 as 1 load
        participant f2 as 2 page
        Note over f1: 0.000000 s joined the log
        Note over f2: 0.000000 s created
        f2->>f1: 0.000000 s waits
        Note over f2: 0.000000 s named
        f1-->>f2: 2.000000 s succeeded
        Note over f2: 2.000000 s succeeded

      """)
    withExtendedLifetime(page) {}
  }

  @Test("A hostile name or reason stays on its line", arguments: TreeDrawingTests.hostileNames)
  func hostile(name: String) {
    let log = FutureLog(clock: clock)
    let promise = Promise<Int>()
    promise.future.named(name).logged(in: log)
    promise.future.cancel(reason: CancellationReason(name, fileID: "A", line: 1))

    let lines = log.mermaid().split(whereSeparator: \.isNewline)
    expectEqual(lines.count, 4)
    let texts = lines.dropFirst().joined().replacing(/#[0-9]+;/, with: "").replacing(">>", with: "")
    #expect(!texts.contains { ";#\"<>[]{}|`\\%".contains($0) }, "\(texts)")
    expectEqual(log.text().split(whereSeparator: \.isNewline).count, 2)
    withExtendedLifetime(promise) {}
  }

  @Test("A long chain is drawn on a stack of 512 KiB")
  func large() {
    let length = LongTest.count(20_000, small: 5_000)
    onSmallStack {
      let log = FutureLog(limit: 1_000_000)
      let promise = Promise<Int>()
      promise.future.logged(in: log)
      var tail = promise.future
      for _ in 0..<length { tail = tail.map { $0 } }
      promise.succeed(1)

      expectEqual(log.mermaid().utf8.count { $0 == UInt8(ascii: "\n") }, log.events.count + length + 2)
      withExtendedLifetime(tail) {}
    }
  }
}
