import Measuring
import Testing

@Suite("The spread of numbers") struct SpreadTests {
  @Test("the median of an odd count is the middle, in whatever order they come")
  func odd() {
    let spread = Spread(of: [9, 1, 5, 3, 7])

    #expect(spread.median == 5)
    #expect(spread.lowerQuartile == 3)
    #expect(spread.upperQuartile == 7)
  }

  @Test("between two numbers it is as near to each as its place is")
  func even() {
    let spread = Spread(of: [4, 1, 3, 2])

    #expect(spread.median == 2.5)
    #expect(spread.lowerQuartile == 1.75)
    #expect(spread.upperQuartile == 3.25)
  }

  @Test("one number has no spread")
  func one() {
    let spread = Spread(of: [8])

    #expect([spread.lowerQuartile, spread.median, spread.upperQuartile] == [8, 8, 8])
  }

  @Test("one wild round does not move the median")
  func outlier() {
    #expect(Spread(of: [2, 2.1, 900, 1.9, 2]).median == 2)
  }
}
