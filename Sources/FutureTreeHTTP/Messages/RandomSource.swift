/// Where layers get what nobody should foresee: jitter, verifiers, identifiers.
///
/// ```swift
/// let retry = Retry(random: .seeded(1))  // FutureTreeHTTPTesting
/// ```
///
/// A layer takes one as a parameter, so that a test says what comes. It can be used from any thread.
public struct RandomSource: RandomNumberGenerator, Sendable {
  private let make: @Sendable () -> UInt64

  /// A source of your own. The closure is called from any thread.
  public init(_ make: @escaping @Sendable () -> UInt64) {
    self.make = make
  }

  /// The generator of the system, which is fit for secrets.
  public static let system = RandomSource {
    var generator = SystemRandomNumberGenerator()
    return generator.next()
  }

  public func next() -> UInt64 { make() }

  /// A part of a whole, from 0 to 1; all are as likely.
  func fraction() -> Double { Double(next() >> 11) / 0x1.fffffffffffffp52 }

  /// So many bytes. The standard library gives random numbers, and no random bytes.
  package func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(next() >> 56) } }
}
