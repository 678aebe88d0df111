import FutureTree
import FutureTreeHTTP

extension FutureDeadline {
  /// Creates a deadline from the value of `grpc-timeout` (gRPC over HTTP/2, *Requests*): 1 to 8 digits and a unit, which is `H`, `M`,
  /// `S`, `m` (milliseconds), `u` or `n`. Any other value is `nil`.
  init?(grpcTimeout: String, clock: any FutureClock) {
    let digits = grpcTimeout.dropLast()
    // `Int` accepts signs as well.
    guard let unit = grpcTimeout.last.flatMap({ Self.units[$0] }), (1...8).contains(digits.utf8.count),
      digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let count = Int(digits)
    else { return nil }
    self = .after(unit * count, clock: clock)
  }

  private static let units: [Character: Duration] = [
    "H": .seconds(3600), "M": .seconds(60), "S": .seconds(1), "m": .milliseconds(1), "u": .microseconds(1),
    "n": .nanoseconds(1),
  ]
}
