import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

/// The code of the guide *Cancellation*, word for word. `GuideTests` compares the two.
@Suite("Guide: Cancellation, many futures, the compiler and misuse")
struct CancellationGuideSnippetsUsing {
  private struct Empty: Error {}
  private let print = Transcript()

  @Test("Bodies that name their result type")
  func results() {
    // guide compiler
    let download = Promise<String>()
    download.future
      .map { text -> Int in  // Several statements: the result type is written.
        let words = text.split(separator: " ")
        return words.count
      }
      .map { print($0) }  // 2
    let title = download.future.onSuccess { text -> Future<String> in
      if text.isEmpty { return .failed(Empty()) }
      return .succeeded(text.uppercased())
    }
    let skipped = title.onSuccess { _ in Future<Int>.cancelled("not needed") }
    let failed = title.map { _ -> Int in throw Empty() }
    download.succeed("a page")
    // end

    #expect(print.lines == ["2"])
    #expect([title.state, skipped.state] == ["success(A PAGE)", "cancelled"])
    #expect(failed.state == "failure(Empty())")
  }

  @Test("Errors of misuse")
  func misuse() {
    // guide misuse
    let circle = Promise<Int>()
    print(circle.complete(.completeUsing(circle.future.map { $0 + 1 })))  // true
    circle.future.onFailure { print(type(of: $0)) }  // CompletedWithItself

    let twice = Promise<Int>()
    print(twice.succeed(1), twice.succeed(2))  // true false

    let pending = Promise<Int>()
    pending.future.timeout(after: .seconds(-1)).onFailure { print(type(of: $0)) }  // InvalidArgument
    // end

    #expect(print.lines == ["true", "CompletedWithItself", "true false", "InvalidArgument"])
  }

  @Test("One token for many futures")
  func many() {
    // guide many
    let (icon, photo, memory) = (Promise<String>(), Promise<String>(), CancellationTokenSource())
    for promise in [icon, photo] {
      promise.onRequestCancel { _ in .complete(.cancelled) }
      promise.future.cancel(when: memory.token)
    }
    memory.cancel(reason: "memory is short")
    for promise in [icon, photo] { promise.future.onCancel { print($0.message) } }  // memory is short

    let (users, answer) = (SingleFlight<Int, String>(), Promise<String>())
    let callers = (1...2).map { _ in users.load(7) { answer.future } }
    print(callers[0].cancel())  // withheld by 1 other consumer, reached 2 futures
    answer.succeed("user 7")
    callers[1].observe { print($0) }  // success("user 7")
    // end

    #expect(
      print.lines == [
        "memory is short", "memory is short", "withheld by 1 other consumer, reached 2 futures", "success(\"user 7\")",
      ])
    #expect(callers[0].state == "cancelled")
  }
}
