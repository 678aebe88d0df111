import TestSupport
import Testing

@testable import FutureTreeHTTP
@testable import FutureTreeHTTPStore

@Suite("Content-Range") struct ContentRangeTests {
  @Test(
    "A range of bytes is parsed",
    arguments: [
      ("bytes 0-0/1", 0...0, 1), ("bytes 5-9/10", 5...9, 10), ("bytes 5-9/*", 5...9, nil), ("BYTES 5-9/11", 5...9, 11),
      ("bytes */10", nil, 10), ("bytes 00-01/02", 0...1, 2),
    ] as [(String, ClosedRange<Int>?, Int?)])
  func valid(value: String, bytes: ClosedRange<Int>?, total: Int?) throws {
    let range = try #require(ContentRange(value))

    expectEqual(range.bytes, bytes)
    expectEqual(range.total, total)
  }

  @Test(
    "A value that is malformed or contradictory is refused",
    arguments: [
      "", "bytes", "bytes ", "bytes 5-9", "bytes 5-9/", "bytes 5/10", "bytes 9-5/10", "bytes 5-10/10", "bytes */*",
      "bytes -5-9/10", "bytes 5-9/10 ", "bytes  5-9/10", "lines 5-9/10", "bytes=5-9/10", "bytes +5-9/10",
      "bytes 5-9/99999999999999999999", "bytes 99999999999999999999-9/10", "bytes 5-9/-1", "bytes 5-9/10, bytes 5-9/10",
    ])
  func invalid(value: String) {
    #expect(ContentRange(value) == nil)
  }
}
