import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Names and values") struct NameValuePairsTests {
  private func text(_ pairs: NameValuePairs<String?>) -> [String] { pairs.map { "\($0)=\($1 ?? "nil")" } }

  @Test("A literal keeps its order and its repeated names, as a dictionary and as a list")
  func literals() {
    let expected = ["b=1", "a=2", "b=nil"]

    expectEqual(text(["b": "1", "a": "2", "b": nil]), expected)
    expectEqual(text([("b", "1"), ("a", "2"), ("b", nil)]), expected)
    expectEqual(text([]), [])
    expectEqual(text([:]), [])
  }

  @Test("A dictionary is sorted by its names")
  func dictionary() {
    expectEqual(text(NameValuePairs(["c": "3", "a": "1", "b": nil])), ["a=1", "b=nil", "c=3"])
  }

  @Test("It is changed as an array is")
  func changes() {
    var pairs: NameValuePairs<String?> = ["a": "1"]
    pairs.append(("b", nil))
    pairs.insert(("c", "3"), at: 0)

    expectEqual(text(pairs), ["c=3", "a=1", "b=nil"])
    expectEqual(text(pairs.filter { $0.1 != nil }), ["c=3", "a=1"])
    expectEqual(text(NameValuePairs([("d", "4")] as [(String, String?)])), ["d=4"])
  }

  @Test("Queries, headers and environments are written as dictionaries")
  func uses() throws {
    let request = try HTTPRequest(.get, to: "http://a.example/b", query: ["page": "2", "q": "a b", "draft": nil])
    let headers = try HTTPHeaders(["Accept": "text/html", "accept": "text/plain"])
    let environment = try ServerEnvironment(host: "a.example", headers: ["X-Team": "blue"], query: ["k": "1"])

    expectEqual(request.url?.absoluteString, "http://a.example/b?page=2&q=a%20b&draft")
    expectEqual(headers.values(for: "Accept"), ["text/html", "text/plain"])
    try expectEqual(
      environment.applied(to: HTTPRequest(.get, path: "c")).url?.absoluteString, "https://a.example/c?k=1")
    expectEqual(#expect(throws: HTTPError.self) { try HTTPHeaders(["A B": "1"]) }?.code, .invalidHeaderName)
  }
}
