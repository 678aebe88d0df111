import TestSupport
import Testing

@Suite("expectEqual")
struct ExpectEqualTests {
  @Test("Two different values are one issue, which has both and the comment")
  func different() {
    withKnownIssue {
      expectEqual("a", "b", "the letters")
    } matching: { issue in
      issue.comments.map(\.rawValue) == ["\"a\" is not \"b\"\nthe letters"] && issue.sourceLocation?.line == 9
    }
  }

  @Test("Equal values are no issue, and their comment is not evaluated")
  func equal() {
    var evaluations = 0
    func comment() -> Comment {
      evaluations += 1
      return "the numbers"
    }

    expectEqual(1, 1, comment())
    expectEqual(nil as Int?, nil)

    #expect(evaluations == 0)
  }
}
