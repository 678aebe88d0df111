#if canImport(CryptoKit)
  import CryptoKit
  import Foundation

  /// The 32 bytes of the digest SHA-256.
  func sha256(of message: some Collection<UInt8>) -> [UInt8] { Array(SHA256.hash(data: Array(message))) }
#endif
