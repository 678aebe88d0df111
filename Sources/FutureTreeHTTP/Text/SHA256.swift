#if canImport(CryptoKit)
  import CryptoKit
  import Foundation

  /// Returns the SHA-256 digest, which has 32 bytes.
  package func sha256(of message: some Collection<UInt8>) -> [UInt8] { Array(SHA256.hash(data: Array(message))) }
#else
  /// Returns the SHA-256 digest, which has 32 bytes.
  package func sha256(of message: some Collection<UInt8>) -> [UInt8] { SHA256.digest(of: message) }

  /// The SHA-256 digest (FIPS 180-4, section 6.2), implemented here because Foundation on Linux has none. Its running
  /// time depends only on the length of the message. It is not optimized for large files.
  private struct SHA256 {
    private var hash: [UInt32] = [
      0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A, 0x510E_527F, 0x9B05_688C, 0x1F83_D9AB, 0x5BE0_CD19,
    ]

    static func digest(of message: some Collection<UInt8>) -> [UInt8] {
      var sha = SHA256()
      let bytes = padded(message)
      var schedule = [UInt32](repeating: 0, count: 64)
      for start in stride(from: 0, to: bytes.count, by: 64) { sha.add(bytes[start..<(start + 64)], &schedule) }
      return sha.hash.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * $0)) } }
    }

    /// Appends the padding (section 5.1.1): a bit, zeros up to 8 bytes before the end of a block, and the length in bits.
    private static func padded(_ message: some Collection<UInt8>) -> [UInt8] {
      var bytes = Array(message)
      let bitCount = UInt64(bytes.count) &* 8
      bytes.append(0x80)
      bytes.append(contentsOf: repeatElement(0, count: (120 - bytes.count % 64) % 64))
      bytes.append(contentsOf: (0..<8).map { UInt8(truncatingIfNeeded: bitCount >> (56 - 8 * UInt64($0))) })
      return bytes
    }

    /// Processes one block (section 6.2.2).
    private mutating func add(_ block: ArraySlice<UInt8>, _ schedule: inout [UInt32]) {
      for index in 0..<16 {
        let start = block.startIndex + 4 * index
        schedule[index] = block[start..<(start + 4)].reduce(0) { $0 << 8 | UInt32($1) }
      }
      for index in 16..<64 {
        schedule[index] =
          SHA256.smallSigma1(schedule[index - 2]) &+ schedule[index - 7] &+ SHA256.smallSigma0(schedule[index - 15])
          &+ schedule[index - 16]
      }
      var (a, b, c, d) = (hash[0], hash[1], hash[2], hash[3])
      var (e, f, g, h) = (hash[4], hash[5], hash[6], hash[7])
      for index in 0..<64 {
        let choice = (e & f) ^ (~e & g)
        let majority = (a & b) ^ (a & c) ^ (b & c)
        let first = h &+ SHA256.bigSigma1(e) &+ choice &+ SHA256.constants[index] &+ schedule[index]
        let second = SHA256.bigSigma0(a) &+ majority
        (h, g, f, e, d, c, b, a) = (g, f, e, d &+ first, c, b, a, first &+ second)
      }
      for (index, word) in [a, b, c, d, e, f, g, h].enumerated() { hash[index] &+= word }
    }

    // The functions of section 4.1.2.

    private static func rotated(_ word: UInt32, _ count: UInt32) -> UInt32 { word >> count | word << (32 - count) }

    private static func bigSigma0(_ x: UInt32) -> UInt32 { rotated(x, 2) ^ rotated(x, 13) ^ rotated(x, 22) }
    private static func bigSigma1(_ x: UInt32) -> UInt32 { rotated(x, 6) ^ rotated(x, 11) ^ rotated(x, 25) }
    private static func smallSigma0(_ x: UInt32) -> UInt32 { rotated(x, 7) ^ rotated(x, 18) ^ x >> 3 }
    private static func smallSigma1(_ x: UInt32) -> UInt32 { rotated(x, 17) ^ rotated(x, 19) ^ x >> 10 }

    /// The constants of section 4.2.2.
    private static let constants: [UInt32] = [
      0x428A_2F98, 0x7137_4491, 0xB5C0_FBCF, 0xE9B5_DBA5, 0x3956_C25B, 0x59F1_11F1, 0x923F_82A4, 0xAB1C_5ED5,
      0xD807_AA98, 0x1283_5B01, 0x2431_85BE, 0x550C_7DC3, 0x72BE_5D74, 0x80DE_B1FE, 0x9BDC_06A7, 0xC19B_F174,
      0xE49B_69C1, 0xEFBE_4786, 0x0FC1_9DC6, 0x240C_A1CC, 0x2DE9_2C6F, 0x4A74_84AA, 0x5CB0_A9DC, 0x76F9_88DA,
      0x983E_5152, 0xA831_C66D, 0xB003_27C8, 0xBF59_7FC7, 0xC6E0_0BF3, 0xD5A7_9147, 0x06CA_6351, 0x1429_2967,
      0x27B7_0A85, 0x2E1B_2138, 0x4D2C_6DFC, 0x5338_0D13, 0x650A_7354, 0x766A_0ABB, 0x81C2_C92E, 0x9272_2C85,
      0xA2BF_E8A1, 0xA81A_664B, 0xC24B_8B70, 0xC76C_51A3, 0xD192_E819, 0xD699_0624, 0xF40E_3585, 0x106A_A070,
      0x19A4_C116, 0x1E37_6C08, 0x2748_774C, 0x34B0_BCB5, 0x391C_0CB3, 0x4ED8_AA4A, 0x5B9C_CA4F, 0x682E_6FF3,
      0x748F_82EE, 0x78A5_636F, 0x84C8_7814, 0x8CC7_0208, 0x90BE_FFFA, 0xA450_6CEB, 0xBEF9_A3F7, 0xC671_78F2,
    ]
  }
#endif
