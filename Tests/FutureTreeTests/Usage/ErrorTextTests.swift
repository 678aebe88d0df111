import Foundation
import FutureTreeTesting
import TestSupport
import Testing

@testable import FutureTree

/// Every public error of the module, made by the misuse or event that causes it.
@Suite("Errors: cause, place and remedy") struct ErrorTextTests {
  private let promise = Promise<Int>()

  private var errors: [any Error] {
    [
      error(of: Promise<Int>().future),
      error(of: Future<Int>(on: Self.closed) { 1 }),
      error(of: itself()),
      error(of: Future<Int>.any([])),
      error(of: Future<Int>.any([.failed(Oops())])),
      error(of: Future<Int>.any([.failed(Oops("a")), .failed(Oops("b"))])),
      error(of: promise.future.timeout(after: .seconds(-1))),
      error(of: promise.future.delayed(by: .seconds(-1))),
      error(of: Future<Void>.after(.seconds(-1))),
      error(of: Future<Int>.retry(.constant(attempts: 0)) { _ in .succeeded(1) }),
      error(of: Future<Int>.traverse([1], atMost: 0) { .succeeded($0) }),
      error(of: timedOut()),
      error(of: Future<Int>.wrappingOptionals { completion in completion(nil, nil) }),
      error(of: refused()),
      error(of: undoFailed()),
      FutureCancelled(reason: "the page was closed"),
      error(of: inOwnQueue()),
      WaitWouldHang(future: "feed", place: .executor), WaitWouldHang(future: "feed", place: .body),
    ]
  }

  @Test("Every error of the module states cause, place and remedy")
  func everyError() throws {
    var missing = try Self.errorsOfSource()

    for error in errors {
      #expect(ErrorText.fault(of: error, hasAdvice: !(error is FutureCancelled)) == nil)
      missing.remove("\(type(of: error))")
    }

    #expect(missing.isEmpty)
  }

  private func error(of future: Future<some Sendable>) -> any Error {
    guard let error = future.outcomeIfCompleted?.error else { return Missing() }
    return error
  }

  private struct Missing: Error {}

  private static let closed = FutureExecutor.custom { _ in }

  private func itself() -> Future<Int> {
    promise.complete(.completeUsing(promise.future))
    return promise.future
  }

  private func inOwnQueue() -> Future<Int> {
    let queue = FutureQueue()
    return queue.add { queue.add { .succeeded(1) } }
  }

  private func refused() -> Future<Int> {
    let scope = CancelScope("checkout")
    scope.end()
    return scope.run { .succeeded(1) }
  }

  private func undoFailed() -> Future<Void> {
    let scope = CancelScope("checkout")
    scope.undo(of: Future.succeeded(1), named: "order") { _ in Future<Int>.failed(Oops()) }
    return scope.end()
  }

  private func timedOut() -> Future<Int> {
    let (clock, silent) = (ManualClock(), Promise<Int>())
    let future = silent.future.timeout(after: .seconds(5), clock: clock)
    clock.advance(by: .seconds(5))
    return future
  }

  /// The names of all public errors, without the error of the Combine bridge.
  private static func errorsOfSource() throws -> Set<String> {
    let folder = URL(filePath: #filePath).appending(path: "../../../../Sources/FutureTree").standardizedFileURL
    var names: Set<String> = []
    let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    while let file = files?.nextObject() as? URL {
      guard file.pathExtension == "swift", file.lastPathComponent != "Combine.swift" else { continue }
      let source = try String(contentsOf: file, encoding: .utf8)
      names.formUnion(source.matches(of: /public struct (\w+): Error/).map { String($0.output.1) })
    }
    return names
  }
}
