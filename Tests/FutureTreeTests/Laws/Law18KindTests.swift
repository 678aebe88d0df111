import Foundation
import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

/// The kind and the cause of a reason: what a program reads instead of the message.
@Suite("Law 18: provenance, kinds and causes", .tags(.law18))
struct Law18KindTests {
  private let asked = Promise<Int>()

  @Test("A text is a reason of a caller, without a cause")
  func text() {
    asked.future.cancel(reason: "not needed")

    expectEqual(asked.kind, .requested)
    #expect(asked.cancelRequest?.reason.cause == nil)
  }

  @Test("A request without a reason is that of a caller")
  func noReason() {
    asked.future.cancel()

    expectEqual(asked.kind, .requested)
  }

  @Test("A kind of a program, its cause and its location reach the handler and the outcomes")
  func own() {
    let received = Recorder()
    asked.onRequestCancel { request in
      received("\(request.reason.kind) \(request.reason.cause as? Oops == Oops("full"))")
      return .complete(.cancelled)
    }
    let derived = asked.future.map { $0 }

    derived.cancel(reason: CancellationReason("no space", kind: .diskFull, cause: Oops("full"), fileID: "", line: 0))

    expectEqual(received.entries, ["Tests.diskFull true"])
    for reason in [derived.reason, asked.future.reason] {
      expectEqual(reason?.kind, .diskFull)
      expectEqual(reason?.cause as? Oops, Oops("full"))
      expectEqual(reason?.fileID, "FutureTreeTests/Law18KindTests.swift")
    }
  }

  @Test("A token and a bag keep the kind and the cause")
  func tokens() {
    let reason = CancellationReason("no space", kind: .diskFull, cause: Oops())
    let (first, second, third) = (Promise<Int>(), Promise<Int>(), Promise<Int>())
    let bag = CancelBag()
    bag.insert(second.future.cancelToken())
    let source = CancellationTokenSource()
    let seen = Recorder()
    let registration = source.token.register { seen("\($0.kind) \($0.cause is Oops)") }

    first.future.cancelToken().cancel(reason: reason)
    bag.cancel(reason: reason)
    source.cancel(reason: reason)
    third.completeCancelled(reason)

    #expect([first, second].allSatisfy { $0.kind == .diskFull && $0.cancelRequest?.reason.cause is Oops })
    expectEqual(seen.entries, ["Tests.diskFull true"])
    expectEqual(third.future.reason?.kind, .diskFull)
    withExtendedLifetime(registration) {}
  }

  @Test("Reasons of different kinds differ, and a cause is not compared")
  func equality() {
    let reasons = [
      CancellationReason("a", fileID: "", line: 0), CancellationReason("a", kind: .timeout, fileID: "", line: 0),
      CancellationReason("a", kind: .timeout, cause: Oops(), fileID: "", line: 0),
    ]

    #expect(reasons[0] == "a" && reasons[0] != reasons[1] && reasons[1] == reasons[2] && Set(reasons).count == 2)
  }

  @Test("The kind is encoded unless a caller asked, and a kind of a later version is kept")
  func coding() throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    let reasons = [
      CancellationReason("a", fileID: "f", line: 1),
      CancellationReason("b", kind: .timeout, cause: Oops(), fileID: "f", line: 2),
    ]

    let json = try encoder.encode(reasons)

    expectEqual(
      String(decoding: json, as: UTF8.self),
      #"[{"fileID":"f","line":1,"message":"a"},{"fileID":"f","kind":"timeout","line":2,"message":"b"}]"#)
    try expectEqual(JSONDecoder().decode([CancellationReason].self, from: json), reasons)
    let later = try JSONDecoder().decode(
      CancellationReason.self, from: Data(#"{"fileID":"f","kind":"eclipse","line":1,"message":"c"}"#.utf8))
    expectEqual(later.kind.description, "eclipse")
  }

  // MARK: - The reasons of the library

  @Test("A timeout asks with its kind and its error")
  func timeout() {
    let clock = ManualClock()
    let page = asked.future.timeout(after: .seconds(5), clock: clock)

    clock.advance(by: .seconds(5))

    expectEqual(asked.kind, .timeout)
    expectEqual(asked.cancelRequest?.reason.cause as? TimeoutError, TimeoutError(duration: .seconds(5)))
    #expect(page.outcomeIfCompleted?.error is TimeoutError)
  }

  @Test("A negative timeout asks with the error of the operator")
  func negativeTimeout() {
    let page = asked.future.timeout(after: .seconds(-1))

    expectEqual(asked.kind, .decided)
    #expect(asked.cancelRequest?.reason.cause is InvalidArgument)
    withExtendedLifetime(page) {}
  }

  @Test("A join that is decided asks the rest, with the error that decided it")
  func joins() {
    for (decide, cause) in [
      (Outcome<Int>.success(1), "nil"), (.failure(Oops("first")), "first"),
      (.cancelled(CancellationReason("gone", kind: .disconnected)), "disconnected"),
    ] {
      let (first, rest) = (Promise<Int>(), Promise<Int>())
      let join =
        decide.error == nil && decide.reason == nil
        ? Future.race([first.future, rest.future]) : Future.all([first.future, rest.future]).map { $0[0] }

      first.complete(with: decide)

      let reason = rest.cancelRequest?.reason
      let found = reason?.cause.map { ($0 as? FutureCancelled)?.reason.kind.description ?? "\($0)" } ?? "nil"
      expectEqual(reason?.kind, .decided)
      expectEqual(found, cause)
      withExtendedLifetime(join) {}
    }
  }

  @Test("A bag and a sequence that are dropped abandon their work")
  func abandoned() async {
    let (bagged, iterated) = (Promise<Int>(), Promise<Int>())
    do {
      let bag = CancelBag()
      bag.insert(bagged.future.cancelToken())
    }
    do {
      var iterator = Future.outcomes(of: [Future.succeeded(1), iterated.future]).makeAsyncIterator()
      _ = try? await iterator.next()
    }

    expectEqual([bagged, iterated].map(\.kind), [.abandoned, .abandoned])
  }

  @Test("A cancelled task that awaits is a caller")
  func task() async {
    let task = Task { [future = asked.future] in try await future.value }
    task.cancel()
    _ = await task.result

    expectEqual(asked.kind, .requested)
  }

  @Test("A scope that ends asks with its kind")
  func scopes() async {
    let (ended, threw, dropped) = (Promise<Int>(), Promise<Int>(), Promise<Int>())
    let scope = CancelScope("ends", whenEnded: .cancelsWork)
    scope.run { ended.future }
    for promise in [threw, dropped] { promise.onRequestCancel { _ in .complete(.cancelled) } }

    scope.end()
    try? await withCancelScope("throws") { scope in
      scope.run { threw.future }
      throw Oops("body")
    }
    do { CancelScope("dropped").run { dropped.future } }

    expectEqual([ended, threw, dropped].map(\.kind), [.scopeEnded, .scopeEnded, .abandoned])
    expectEqual(threw.cancelRequest?.reason.cause as? Oops, Oops("body"))
    ended.complete(.cancelled)
  }

  @Test("Work that is added to an ended scope is asked with its kind")
  func nestedLate() {
    let outer = CancelScope("outer")
    outer.end()
    let inner = outer.nested("inner")

    expectEqual(inner.future.reason?.kind, .scopeEnded)
  }
}

extension CancellationReason.Kind {
  fileprivate static let diskFull: Self = "Tests.diskFull"
}

extension Promise {
  /// The kind of the request that the promise received.
  fileprivate var kind: CancellationReason.Kind? { cancelRequest?.reason.kind }
}
