#if os(Linux)
  import TestSupport
  import Testing

  @testable import FutureTreeHTTP

  @Suite("CurlLoader: errors of libcurl") struct CurlErrorTableTests {
    private func error(
      _ code: Int32, _ text: String = "", hasHead: Bool = false, hasBegun: Bool = false, proxy: CurlProxy? = nil
    ) throws -> HTTPError {
      CurlErrorTable(
        url: try HTTPURL("https://example.com/a?secret"), proxy: proxy, unixSocketPath: nil, hasHead: hasHead,
        hasBegun: hasBegun
      ).error(code, text)
    }

    @Test(
      "Each result has a code",
      arguments: [
        (1, .invalidResponse), (3, .invalidURL), (6, .unknownHost), (7, .cannotConnect), (8, .invalidResponse),
        (18, .connectionLost), (27, .invalidResponse), (28, .timedOut), (35, .insecureConnection),
        (52, .connectionLost),
        (56, .connectionLost), (60, .insecureConnection), (77, .insecureConnection), (90, .insecureConnection),
        (100, .invalidResponse), (42, .transportFailed), (999, .transportFailed),
      ] as [(Int32, HTTPError.Code)])
    func codes(code: Int32, expected: HTTPError.Code) throws {
      let error = try error(code, "a text")

      expectEqual(error.code, expected)
      #expect(!error.message.contains("secret"))
      #expect(error.message.hasSuffix("."))
      expectEqual((error.underlying as? CurlErrorTable.Underlying)?.description, "libcurl \(code): a text")
    }

    @Test(
      "After the head, a closed connection has cut the body", arguments: [0, 16, 18, 52, 55, 56, 92, 95, 35] as [Int32])
    func cut(code: Int32) throws {
      try expectEqual(error(code, hasHead: true).code, .truncatedBody)
    }

    @Test("Inside the head, a refusal of libcurl is one of the response")
    func inHead() throws {
      try expectEqual(error(56, hasBegun: true).code, .invalidResponse)
    }

    @Test("An error of the proxy names the proxy, and not its credentials")
    func ofProxy() throws {
      let server = CurlLoader.Proxy.Server(host: "proxy.example", port: 3128, userName: "user", password: "secret")
      let proxy = CurlProxy(server, isSOCKS: false, opensTunnel: true)
      let cases: [(Int32, String, HTTPError.Code)] = [
        (5, "Could not resolve proxy: proxy.example", .unknownHost), (7, "Failed to connect", .cannotConnect),
        (56, "CONNECT tunnel failed, response 407", .cannotConnect), (97, "SOCKS5 refused", .cannotConnect),
        (4, "Unsupported proxy", .invalidConfiguration),
      ]

      for (code, text, expected) in cases {
        let error = try error(code, text, proxy: proxy)
        expectEqual(error.code, expected)
        #expect(error.message.contains("proxy.example:3128"))
        #expect(!error.message.contains("secret"))
      }
      #expect(
        try error(56, "CONNECT tunnel failed, response 407", proxy: proxy).message.contains("with the status 407"))
      try expectEqual(error(56, "Recv failure", proxy: proxy).code, .connectionLost)
    }
  }
#endif
