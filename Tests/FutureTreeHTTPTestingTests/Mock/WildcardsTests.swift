import TestSupport
import Testing

@testable import FutureTreeHTTPTesting

@Suite("Wildcards") struct WildcardsTests {
  @Test(
    "A pattern matches texts as documented",
    arguments: [
      ("/users", "/users", true), ("/users", "/users/1", false), ("/users", "/user", false), ("", "", true),
      ("", "/", false), ("/users/*", "/users/1", true), ("/users/*", "/users/", true), ("/users/*", "/users", false),
      ("/users/*", "/users/1/posts", false), ("/users/**", "/users/1/posts", true), ("/**", "/", true),
      ("**/posts", "/users/1/posts", true), ("/a*c*e", "/abcde", true), ("/a*c*e", "/abde", false),
      ("/*/*", "/a/b", true), ("/*/*", "/a", false), ("/a***b", "/a/x/b", true), ("*", "ab", true), ("*", "a/b", false),
      ("/é*", "/éa", true),
    ])
  func matches(pattern: String, text: String, isMatch: Bool) {
    expectEqual(Wildcards(pattern, separator: "/").matches(text), isMatch)
  }

  @Test("A pathological pattern is matched fast")
  func worstCase() {
    let pattern = Wildcards(String(repeating: "*a", count: 50) + "b", separator: "/")

    #expect(!pattern.matches(String(repeating: "a", count: 2_000)))
  }
}
