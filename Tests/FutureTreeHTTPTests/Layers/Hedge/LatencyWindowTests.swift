import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("Hedge: measured times")
struct LatencyWindowTests {
  @Test("The window keeps the latest times, and its percentiles are those of a sorted list")
  func window() {
    var window = LatencyWindow()
    var all: [Int] = []
    var number = 7
    for _ in 0..<1000 {
      number = (number * 1_103_515_245 + 12345) % 2_147_483_648
      all.append(number % 100)
      window.add(.milliseconds(number % 100))

      let latest = all.suffix(LatencyWindow.limit).sorted()
      for share in [0, 0.5, 0.95, 1] {
        let index = min(latest.count - 1, Int(share * Double(latest.count)))
        expectEqual(window.percentile(share), .milliseconds(latest[index]))
      }
    }
  }
}
