#if canImport(CryptoKit)
  import CryptoKit
  import Foundation

  /// Returns the SHA-256 digest, which has 32 bytes.
  package func sha256(of message: some Collection<UInt8>) -> [UInt8] { Array(SHA256.hash(data: Array(message))) }
#endif
