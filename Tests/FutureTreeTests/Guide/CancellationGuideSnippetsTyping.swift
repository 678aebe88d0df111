import FutureTree
import FutureTreeTesting
import Testing

/// The code of the guide *Cancellation*, word for word. `GuideTests` compares the two.
@Suite("Guide: Cancellation, the compiler and misuse")
struct CancellationGuideSnippetsTyping {
  private struct Empty: Error {}
  private let print = Transcript()

  @Test("bodies that name their result")
  func results() {
    // guide compiler
    let download = Promise<String>()
    download.future
      .onSuccess { text -> Int in  // names its result: it has several statements, and `{ print($0) }` follows
        let words = text.split(separator: " ")
        return words.count
      }
      .onSuccess { print($0) }  // 2
    let title: Future<String> = download.future.onSuccess { text in
      if text.isEmpty { return .failure(Empty()) }  // the type is known from the left: no name is needed
      return .success(text.uppercased())
    }
    let skipped = title.onSuccess { _ in Completion<Int>.cancelled("not needed") }
    let failed = title.map { _ -> Int in throw Empty() }
    download.succeed("a page")
    // end

    #expect(print.lines == ["2"])
    #expect([title.state, skipped.state] == ["success(A PAGE)", "cancelled"])
    #expect(failed.state == "failure(Empty())")
  }

  @Test("misuse has an answer")
  func misuse() {
    // guide misuse
    let circle = Promise<Int>()
    print(circle.complete(.completeUsing(circle.future.map { $0 + 1 })))  // true
    circle.future.onFailure { print(type(of: $0)) }  // CompletedWithItself

    let twice = Promise<Int>()
    print(twice.succeed(1), twice.succeed(2))  // true false

    let late = twice.future.timeout(after: .seconds(-1))
    print(late.isCompleted)  // true; the value was there before the time was looked at

    let never = Promise<Int>().future.timeout(after: .seconds(-1))
    never.onFailure { print(type(of: $0)) }  // InvalidArgument
    // end

    #expect(print.lines == ["true", "CompletedWithItself", "true false", "true", "InvalidArgument"])
    #expect(late.state == "success(1)")
  }
}
