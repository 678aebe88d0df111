import Measuring
import Testing

@Suite("Spread") struct SpreadTests {
  @Test("The median of an odd count is the middle number, in any order")
  func odd() {
    let spread = Spread(of: [9, 1, 5, 3, 7])

    #expect(spread.median == 5)
    #expect(spread.lowerQuartile == 3)
    #expect(spread.upperQuartile == 7)
  }

  @Test("A quartile between two numbers is interpolated linearly")
  func even() {
    let spread = Spread(of: [4, 1, 3, 2])

    #expect(spread.median == 2.5)
    #expect(spread.lowerQuartile == 1.75)
    #expect(spread.upperQuartile == 3.25)
  }

  @Test("One number has no spread")
  func one() {
    let spread = Spread(of: [8])

    #expect([spread.lowerQuartile, spread.median, spread.upperQuartile] == [8, 8, 8])
  }

  @Test("One outlier does not move the median")
  func outlier() {
    #expect(Spread(of: [2, 2.1, 900, 1.9, 2]).median == 2)
  }
}
