import Foundation
import FutureTreeHTTP
import FutureTreeHTTPTesting
import TestSupport
import Testing

#if canImport(Darwin)
  import Security
#endif

/// The code of the article, word for word. `HTTPGuideTests` compares the two. The connections themselves have tests in `CurlLoader`.
@Suite("Guide: connections")
struct ConnectionsGuideSnippets {
  #if os(Linux)
    @Test("Proxies")
    func proxy() {
      let password = "secret"
      // guide proxy
      var configuration = CurlLoader.Configuration()
      configuration.proxy = .http("proxy.internal", port: 3128, userName: "ada", password: password)
      let transport = CurlLoader(configuration)
      // end
      for shown in ["\(configuration.proxy)", String(reflecting: transport)] { #expect(!shown.contains("secret")) }
    }

    @Test("Certificates and pinned keys")
    func keys() {
      let (key, nextKey) = ("\(String(repeating: "A", count: 43))=", "\(String(repeating: "B", count: 43))=")
      // guide keys
      var configuration = CurlLoader.Configuration()
      configuration.security.roots = .file("/etc/ssl/company.pem")
      configuration.security.pinnedKeys = [key, nextKey]
      configuration.security.minimumVersion = .tls13
      let transport = CurlLoader(configuration)
      // end
      #expect(configuration.security.pinnedKeys.count == 2)
      withExtendedLifetime(transport) {}
    }

    @Test("A certificate of the client")
    func client() {
      // guide client
      var configuration = CurlLoader.Configuration()
      configuration.security.clientCertificate = .init(certificate: "/etc/app/client.pem", key: "/etc/app/client.key")
      let transport = CurlLoader(configuration)
      // end
      #expect(configuration.security.clientCertificate != nil)
      withExtendedLifetime(transport) {}
    }

    @Test("Sockets")
    func socket() throws {
      // guide socket
      var configuration = CurlLoader.Configuration()
      configuration.unixSocketPath = "/run/daemon.sock"
      let server = try ServerEnvironment(scheme: .http, host: "localhost")
      let daemon = ApplyEnvironment(server) --> CurlLoader(configuration)
      // end
      #expect(configuration.unixSocketPath != nil)
      withExtendedLifetime(daemon) {}
    }

    @Test("Addresses")
    func addresses() {
      // guide addresses
      var configuration = CurlLoader.Configuration()
      configuration.addresses = ["api.example.com": ["192.0.2.7"]]
      let transport = CurlLoader(configuration)
      // end
      #expect(configuration.addresses.count == 1)
      withExtendedLifetime(transport) {}
    }
  #endif

  #if canImport(Darwin)
    @Test("Proxies of the platform")
    func platformProxy() throws {
      // guide platformProxy
      let platform = URLSessionConfiguration.ephemeral
      platform.connectionProxyDictionary = ["HTTPSEnable": 1, "HTTPSProxy": "proxy.internal", "HTTPSPort": 3128]
      let transport = URLSessionLoader(try URLSessionLoader.Configuration(platform))
      // end
      withExtendedLifetime(transport) {}
    }

    @Test("Trust of the platform")
    func trust() {
      // guide trust
      var configuration = URLSessionLoader.Configuration()
      configuration.serverTrust = { trust, host in
        isPinned(SecTrustCopyKey(trust), for: host) ? .evaluateByPlatform : .refuse
      }
      let transport = URLSessionLoader(configuration)
      // end
      #expect(configuration.serverTrust != nil)
      withExtendedLifetime(transport) {}
    }
  #endif
}

#if canImport(Darwin)
  private func isPinned(_ key: SecKey?, for host: String) -> Bool { false }
#endif
