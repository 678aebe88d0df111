// The declarations of CryptoKit that the sources use. swift-crypto has all of them, but does not compile with the stand-in for
// Darwin: it calls functions that only Apple's C library has.

import Foundation

public struct SHA256Digest: Sequence, Sendable {
  public func makeIterator() -> Array<UInt8>.Iterator { [].makeIterator() }
}

public struct SHA256: Sendable {
  public static func hash(data: some DataProtocol) -> SHA256Digest { SHA256Digest() }
}
