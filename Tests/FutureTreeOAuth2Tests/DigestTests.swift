import Foundation
import FutureTreeHTTPTesting
import TestSupport
import Testing

@testable import FutureTreeHTTP
@testable import FutureTreeOAuth2

@Suite("SHA-256 and base64url") struct DigestTests {
  private func digest(_ text: String) -> String { hexadecimal(sha256(of: text.utf8)) }

  private func hexadecimal(_ bytes: [UInt8]) -> String { bytes.map { ASCII.hexadecimal($0).lowercased() }.joined() }

  @Test("SHA-256 matches the NIST test vectors")
  func vectors() {
    expectEqual(digest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    expectEqual(digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    expectEqual(
      digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
    expectEqual(
      digest(
        "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"
      ), "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1")
    expectEqual(hexadecimal(sha256(of: [0xBD])), "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b")
  }

  @Test("SHA-256 matches the digest of one million letters")
  func million() {
    let digest = sha256(of: repeatElement(UInt8(ascii: "a"), count: 1_000_000))

    expectEqual(hexadecimal(digest), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
  }

  @Test(
    "SHA-256 matches digests of lengths around a block boundary",
    arguments: [
      (55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"),
      (56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"),
      (57, "f13b2d724659eb3bf47f2dd6af1accc87b81f09f59f2b75e5c0bed6589dfe8c6"),
      (63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"),
      (64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"),
      (65, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0"),
      (119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb"),
      (120, "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c"),
    ])
  func blocks(count: Int, expected: String) {
    expectEqual(digest(String(repeating: "a", count: count)), expected)
  }

  @Test("base64url has no padding and no characters that a URL must encode")
  func base64() {
    expectEqual(
      (0...6).map { Base64URL.encoded(Array("foobar".utf8.prefix($0))) },
      [
        "", "Zg", "Zm8", "Zm9v", "Zm9vYg", "Zm9vYmE", "Zm9vYmFy",
      ])
    expectEqual(Base64URL.encoded([0xFB, 0xEF, 0xFF]), "--__")
    let all = Base64URL.encoded((UInt8.min...UInt8.max).map { $0 })
    expectEqual(all.count, 342)
    #expect(all.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) })
  }

  @Test("PKCE matches the example of RFC 7636, appendix B")
  func pkce() {
    let octets: [UInt8] = [
      116, 24, 223, 180, 151, 153, 224, 37, 79, 250, 96, 125, 216, 173, 187, 186, 22, 212, 37, 77, 105, 214, 191, 240,
      91, 88, 5, 88, 83, 132, 141, 121,
    ]

    let verifier = Base64URL.encoded(octets)

    expectEqual(verifier, "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
    expectEqual(AuthorizationCodeLogIn.challenge(for: verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
  }
}
