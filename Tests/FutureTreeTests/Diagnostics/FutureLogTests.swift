import Foundation
import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Event log") struct FutureLogTests {
  private struct Broken: Error, CustomStringConvertible {
    let description = "broken"
  }

  private let clock = ManualClock()

  /// Returns the facts of the future with the given number.
  private func facts(_ future: Int, in log: FutureLog) -> [String] {
    log.events.filter { $0.future == future }.map { "\($0.fact)" }
  }

  @Test("The log records each creation, link, request, completion and release with its time")
  func events() {
    let log = FutureLog(clock: clock)
    var promise: Promise<Int>? = Promise<Int>()
    promise?.future.named("load").logged(in: log)
    clock.advance(by: .milliseconds(250))
    var page = promise?.future.map { $0 }.named("page")
    clock.advance(by: .seconds(1))
    page?.cancel(reason: CancellationReason("closed", fileID: "App/Tab.swift", line: 7))
    clock.advance(by: .seconds(1))
    promise?.fail(Broken())
    promise = nil
    page = nil

    let lines = log.text().split(separator: "\n")
    expectEqual(
      lines.dropLast(2).joined(separator: "\n"),
      """
      0.000000 s  1 load  joined the log
      0.250000 s  2 page  created
      0.250000 s  2 page  waits for 1 load
      0.250000 s  2 page  named
      1.250000 s  2 page  asked to cancel: closed (App/Tab.swift:7)
      1.250000 s  1 load  asked to cancel: closed (App/Tab.swift:7)
      2.250000 s  1 load  failed: broken
      2.250000 s  2 page  failed: broken
      """)
    // Optimized code releases `page` earlier.
    expectEqual(lines.suffix(2).sorted(), ["2.250000 s  1 load  released", "2.250000 s  2 page  released"])
    expectEqual(log.droppedCount, 0)
    expectEqual(log.events.map(\.time).last, .milliseconds(2250))
    expectEqual(log.events.map(\.number), log.events.map(\.number).sorted())
  }

  @Test("The log records a withheld request and its delivery")
  func withheld() {
    let log = FutureLog(clock: clock)
    let promise = Promise<Int>()
    promise.onRequestCancel { _ in .complete(.cancelled) }
    let load = promise.future.named("load").logged(in: log)
    let branches = [load.map { $0 }, load.map { $0 }]
    let reason = CancellationReason("closed", fileID: "App/Tab.swift", line: 7)
    for branch in branches { branch.cancel([.doNotForwardIfOthersWaiting], reason: reason) }

    let polite = "[doNotForwardIfOthersWaiting]: closed (App/Tab.swift:7)"
    expectEqual(
      facts(1, in: log),
      [
        "joined the log", "withheld by 1 \(polite)", "asked to cancel \(polite)", "cancelled: closed (App/Tab.swift:7)",
      ])
    expectEqual(
      facts(2, in: log),
      [
        "created", "waits for 1", "asked to cancel \(polite)", "cancelled: closed (App/Tab.swift:7)",
      ])
    withExtendedLifetime((promise, branches)) {}
  }

  @Test("A log started on an existing tree includes every connected future with its links")
  func wholeTree() {
    let log = FutureLog(clock: clock)
    let promises = [Promise<Int>(), Promise<Int>()]
    let all = Future.all(promises.map { $0.future.map { $0 } })
    let waiting = all.map { $0.count }

    promises[0].future.logged(in: log)
    waiting.logged(in: log)  // It is in the log already.

    let names = log.events.filter { $0.fact == .joined }.map(\.name)
    expectEqual(names.sorted(), ["all", "map", "map", "map", "promise", "promise"])
    expectEqual(log.events.count { if case .linked = $0.fact { true } else { false } }, 5)
    expectEqual(log.events.count, 11)
    for promise in promises { promise.succeed(1) }
    expectEqual(log.events.count { $0.fact == .succeeded }, 6)
  }

  @Test("Futures linked later join the log: inner futures with their upstream, and joins")
  func linked() {
    let log = FutureLog(clock: clock)
    let (outer, inner, other) = (Promise<Int>(), Promise<Int>(), Promise<Int>())
    let deep = inner.future.map { $0 }.named("inner")
    let flat = outer.future.flatMap { _ in deep }.logged(in: log)
    let joined = Future.race([flat, other.future])
    expectEqual(facts(1, in: log), ["joined the log", "waits for 2"])
    expectEqual(log.events.filter { $0.name == "race" }.map(\.fact), [.created, .linked(to: 1), .linked(to: 4)])
    expectEqual(facts(4, in: log), ["joined the log"])
    outer.succeed(1)

    #expect(log.events.contains { $0.name == "inner" && $0.fact == .joined })
    let flatMap = facts(1, in: log)
    let number = log.events.first { $0.name == "inner" }?.future ?? 0
    expectEqual(flatMap.last, "waits for \(number)")
    inner.succeed(2)
    #expect(log.events.contains { $0.name == "inner" && $0.fact == .succeeded })
    #expect(log.events.contains { $0.name == "race" && $0.fact == .succeeded })
    withExtendedLifetime((other, joined)) {}
  }

  @Test("A future derived from a logged future joins the log, even if the logged future has completed")
  func derived() {
    let log = FutureLog(clock: clock)
    let promise = Promise<Int>()
    let load = promise.future.logged(in: log)
    let sealed = Promise<Int>()
    sealed.complete(.completeUsing(load))
    promise.succeed(1)
    let late = load.map { $0 }.named("late")
    let all = Future.all([load]).named("all")

    expectEqual(facts(2, in: log), ["joined the log", "waits for 1", "succeeded"])
    expectEqual(facts(3, in: log), ["created", "waits for 1", "succeeded", "named"])
    expectEqual(facts(4, in: log), ["created", "waits for 1", "succeeded", "named"])
    withExtendedLifetime((late, all, sealed)) {}
  }

  @Test("A future has one log, and a completed future joins none")
  func oneLog() {
    let logs = [FutureLog(clock: clock), FutureLog(clock: clock)]
    let promise = Promise<Int>()
    for log in logs { promise.future.logged(in: log) }
    Future.succeeded(1).logged(in: logs[0])

    expectEqual(logs.map(\.events.count), [1, 0])
    withExtendedLifetime(promise) {}
  }

  @Test("The log retains the latest events and counts the dropped ones", arguments: [0, 1, 3, -1])
  func limit(limit: Int) {
    let log = FutureLog(limit: limit, clock: clock)
    let promise = Promise<Int>()
    let future = promise.future.logged(in: log)
    for index in 0..<9 { future.named("\(index)") }

    let kept = max(limit, 0)
    expectEqual(log.events.map(\.name), (0..<9).suffix(kept).map { "\($0)" })
    expectEqual(log.droppedCount, 10 - kept)
    #expect(log.text().hasPrefix("\(10 - kept) earlier events were dropped"))
    withExtendedLifetime(promise) {}
  }

  @Test("A log retains no future, and a future retains its log")
  func lifetimes() {
    weak var kept: FutureLog?
    var promise: Promise<Probe>? = Promise()
    weak var value: Probe?
    do {
      let log = FutureLog(clock: clock)
      kept = log
      promise?.future.logged(in: log)
      let probe = Probe()
      value = probe
      promise?.succeed(probe)
    }

    #expect(kept != nil && value != nil)
    promise = nil
    #expect(kept == nil && value == nil)
  }

  private final class Probe: Sendable {}

  @Test("A recording is decoded unchanged, and its fields have the documented names")
  func stored() throws {
    let log = FutureLog(limit: 30, clock: clock)
    let promise = Promise<Int>()
    let load = promise.future.named("load").shared().logged(in: log)
    let branches = [load.map { $0 }, load.map { _ in throw Broken() }, load.map { $0 }]
    clock.advance(by: .milliseconds(1))
    branches[0].cancel(.doNotForwardIfOthersWaiting, reason: CancellationReason("no", fileID: "App/A.swift", line: 1))
    promise.succeed(1)
    let recording = log.recording()
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]

    let data = try encoder.encode(recording)

    try expectEqual(JSONDecoder().decode(FutureLog.Recording.self, from: data), recording)
    let json = String(decoding: data, as: UTF8.self)
    let reason = #"{"fileID":"App/A.swift","line":1,"message":"no"}"#
    let request = #"{"options":["doNotForwardIfOthersWaiting"],"reason":\#(reason)}"#
    for part in [
      #"{"droppedCount":0,"events":[{"fact":{"kind":"joined"},"future":1,"name":"load","nanoseconds":0,"number":1}"#,
      #"{"kind":"linked","to":1}"#, #"{"by":2,"kind":"withheld","request":\#(request)}"#,
      #"{"kind":"cancelRequested","request":\#(request)}"#, #"{"error":"broken","kind":"failed"}"#,
      #"{"kind":"cancelled","reason":{"#, #""nanoseconds":1000000,"#,
    ] {
      #expect(json.contains(part), "\(part) in \(json)")
    }
    withExtendedLifetime(branches) {}
  }

  @Test("A long chain is logged on a stack of 512 KiB")
  func large() {
    let length = LongTest.count(20_000, small: 5_000)
    onSmallStack {
      let log = FutureLog(limit: 1_000_000)
      let promise = Promise<Int>()
      promise.future.logged(in: log)
      var tail = promise.future
      for _ in 0..<length { tail = tail.map { $0 } }
      tail.cancel()
      promise.succeed(1)

      expectEqual(log.events.count, 1 + 2 * length + (length + 1) + (length + 1) + (length - 1))
      expectEqual(log.text().utf8.count { $0 == UInt8(ascii: "\n") }, log.events.count - 1)
    }
  }
}
