import TestSupport
import Testing

@testable import FutureTreeHTTP
@testable import FutureTreeHTTPStore

@Suite("Cookies: public suffixes") struct PublicSuffixesTests {
  private static let list = PublicSuffixes(
    list: """
      // A comment
      com
      uk
      co.uk   the rest of a line is ignored
      *.ck
      !www.ck

      公司.cn
      // ===BEGIN PRIVATE DOMAINS===
      GitHub.io
      """)

  @Test(
    "A domain is a public suffix if its longest rule is the whole domain",
    arguments: [
      ("com", true), ("example.com", false), ("co.uk", true), ("a.co.uk", false), ("uk", true), ("b.uk", false),
      ("ck", true), ("a.ck", true), ("b.a.ck", false), ("www.ck", false), ("c.www.ck", false),
      ("xn--55qx5d.cn", true), ("github.io", true), ("a.github.io", false), ("unlisted", true), ("a.unlisted", false),
    ])
  func rules(domain: String, isSuffix: Bool) {
    expectEqual(PublicSuffixesTests.list.contains(domain), isSuffix)
  }

  @Test("Without a list, only domains with one label are public suffixes")
  func noList() {
    #expect(PublicSuffixes.singleLabels.contains("com") && PublicSuffixes.singleLabels.contains("localhost"))
    #expect(!PublicSuffixes.singleLabels.contains("co.uk"))
  }
}
