#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import FutureTreeHTTP

  @Suite("CurlLoader: decoding of bodies") struct BodyDecoderTests {
    static let text = String(repeating: "cancellation travels through the tree of futures. ", count: 20)

    /// The text in each coding.
    static let encoded: [(coding: String, data: Data)] = [
      (
        "gzip",
        "H4sIAAAAAAACA0tOzEtOzclJLMnMz1MoKUosS80pVijJKMovTc8A0qlAsdRUhfw0hbTSktKi1GI9heRRHaM6RnUMMR0Anh8uSugDAAA="
      ),
      ("deflate", "eJxLTsxLTs3JSSzJzM9TKClKLEvNKVYoySjKL03PANKpQLHUVIX8NIW00pLSotRiPYXkUR2jOkZ1DDEdACM/eGQ="),
      ("deflate", "S07MS07NyUksyczPUygpSixLzSlWKMkoyi9NzwDSqUCx1FSF/DSFtNKS0qLUYj2F5FEdozpGdQwxHQA="),
      ("br", "G+cDAARROdICTXH05DDYgAP29AUnGXACGDxkpd1mCEUdJNQVYNxMFAwmvgwc7kIF"),
      ("zstd", "KLUv/QRY3QEAJANjYW5jZWxsYXRpb24gdHJhdmVscyB0aHJvdWdoIHRoZSB0cmVlIG9mIGZ1dHVyZXMuIAEAMrtWCgqiOMDV"),
    ].map { ($0.0, Data(base64Encoded: $0.1)!) }.filter { BodyDecoder.accepted.contains($0.0) }

    /// Decodes data in pieces, and returns the text, or the code of the error.
    private func decode(_ data: Data, _ codings: String..., piece: Int = .max) -> String {
      do throws(HTTPError) {
        let decoder = try BodyDecoder(codings)!
        var decoded = Data()
        var rest = Array(data)[...]
        while !rest.isEmpty {
          Array(rest.prefix(piece)).withUnsafeBytes { decoder.store($0) }
          rest = rest.dropFirst(piece)
          try decoder.resume { piece in
            decoded += piece
            return true
          }
        }
        try decoder.finish()
        return String(decoding: decoded, as: UTF8.self)
      } catch {
        return "\(error.code)"
      }
    }

    @Test("Each coding is decoded, in pieces of any size", arguments: encoded)
    func decoded(coding: String, data: Data) {
      for piece in [1, 2, 7, .max] { expectEqual(decode(data, coding, piece: piece), Self.text) }
    }

    @Test("zlib is on every system with libcurl")
    func available() {
      #expect(BodyDecoder.codings.starts(with: ["gzip", "deflate"]) && BodyDecoder.accepted.contains("x-gzip"))
    }

    @Test("A body that ends inside its encoded data is truncated, wherever it ends", arguments: encoded)
    func truncated(coding: String, data: Data) {
      for count in 1..<data.count { expectEqual(decode(data.prefix(count), coding), "truncatedBody", "\(count)") }
      expectEqual(decode(Data(), coding), "")
    }

    @Test("Data after the end is refused, unless it is another member")
    func members() throws {
      for (coding, data) in Self.encoded {
        let expected = ["gzip", "zstd"].contains(coding) ? Self.text + Self.text : "encodedBody"
        expectEqual(decode(data + data, coding), expected)
        expectEqual(decode(data + data, coding, piece: 1), expected)
        expectEqual(decode(data + Data("garbage".utf8), coding), "encodedBody")
      }
    }

    @Test("Damaged data is an error, and never another text", arguments: encoded)
    func damaged(coding: String, data: Data) {
      for index in data.indices {
        for bit in 0..<8 {
          var data = data
          data[index] ^= 1 << bit
          let result = decode(data, coding)
          // Some bits have no meaning, such as the time of gzip. Codings without a checksum cannot find each damage.
          let isFound = ["encodedBody", "truncatedBody", Self.text].contains(result)
          #expect(isFound || coding == "br" || coding == "zstd" || data.count == 59)
        }
      }
    }

    @Test("Several codings are removed in the reverse order, and more than any server uses are refused")
    func several() throws {
      // The data of gzip in stored blocks of deflate (RFC 1951, section 3.2.4).
      let gzip = Self.encoded[0].data
      let count = UInt16(gzip.count)
      let stored = Data([1, UInt8(count & 0xFF), UInt8(count >> 8), UInt8(~count & 0xFF), UInt8(~count >> 8)]) + gzip

      expectEqual(decode(stored, "gzip", "deflate"), Self.text)
      expectEqual(decode(stored, "gzip", "deflate", piece: 1), Self.text)
      expectEqual(decode(stored.dropLast(), "gzip", "deflate"), "truncatedBody")
      #expect(throws: HTTPError.self) { try BodyDecoder(["gzip", "gzip", "gzip", "gzip"]) }
    }

    @Test("Data that decodes to far more bytes than it has is refused")
    func ratio() throws {
      try #require(BodyDecoder.accepted.contains("br"))
      let zeros = Data(base64Encoded: "m///fwAkAOKxQHLv/wA=")!  // 8 MiB.
      let decoder = try #require(try BodyDecoder(["br"]))
      zeros.withUnsafeBytes { decoder.store($0) }
      var count = 0

      let error = #expect(throws: HTTPError.self) {
        try decoder.resume { piece in
          count += piece.count
          return true
        }
      }

      expectEqual(error?.code, .bodyTooLarge)
      expectEqual(count, BodyDecoder.unlimitedSize)
    }

    @Test("A receiver that is behind gets the rest later")
    func pauses() throws {
      for (coding, data) in Self.encoded {
        let decoder = try #require(try BodyDecoder([coding]))
        var decoded = Data()
        for byte in data {
          [byte].withUnsafeBytes { decoder.store($0) }
          try decoder.resume { piece in
            decoded += piece
            return false
          }
        }
        while decoder.hasRest {
          try decoder.resume { piece in
            decoded += piece
            return false
          }
        }
        try decoder.finish()

        expectEqual(String(decoding: decoded, as: UTF8.self), Self.text)
      }
    }
  }
#endif
