import TestSupport
import Testing

@Suite("expectEqual")
struct ExpectEqualTests {
  @Test("The issue of two different values has both, and the comment")
  func different() {
    let texts = [difference(between: "a", and: "b", "the letters"), difference(between: 1, and: nil, nil)]

    #expect(texts == ["\"a\" is not \"b\"\nthe letters", "Optional(1) is not nil"])
  }

  @Test("Equal values are no issue, and their comment is not evaluated")
  func equal() {
    var evaluations = 0
    func comment() -> Comment {
      evaluations += 1
      return "the numbers"
    }

    expectEqual(1, 1, comment())

    #expect(difference(between: nil as Int?, and: nil, comment()) == nil)
    #expect(evaluations == 0)
  }
}
