/// A source of randomness for layers: jitter, verifiers, identifiers.
///
/// ```swift
/// let retry = Retry(random: .seeded(1))  // FutureTreeHTTPTesting
/// ```
///
/// Layers take a source as a parameter, so that tests can control it. A source can be used from any thread.
public struct RandomSource: RandomNumberGenerator, Sendable {
  private let make: @Sendable () -> UInt64

  /// Creates a source from a closure. The closure is called from any thread.
  public init(_ make: @escaping @Sendable () -> UInt64) {
    self.make = make
  }

  /// The generator of the system, which is suitable for secrets.
  public static let system = RandomSource {
    var generator = SystemRandomNumberGenerator()
    return generator.next()
  }

  public func next() -> UInt64 { make() }

  /// Returns a uniformly distributed number from 0 to 1.
  func fraction() -> Double { Double(next() >> 11) / 0x1.fffffffffffffp52 }

  /// Returns `count` random bytes. The standard library has no function for random bytes.
  package func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(next() >> 56) } }

  /// Returns the text of a random UUID (RFC 9562, version 4), in lower case. That of Foundation cannot use this source.
  func uuid() -> String {
    var bytes = bytes(16)
    bytes[6] = bytes[6] & 0x0F | 0x40
    bytes[8] = bytes[8] & 0x3F | 0x80
    let groups = [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { ASCII.hexadecimal(Array(bytes[$0])) }
    return groups.joined(separator: "-").lowercased()
  }
}
