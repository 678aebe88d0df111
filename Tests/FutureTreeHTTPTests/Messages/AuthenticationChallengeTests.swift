import Foundation
import FutureTreeHTTP
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Challenges of WWW-Authenticate") struct AuthenticationChallengeTests {
  private func read(_ value: String) -> [String]? {
    AuthenticationChallenge.challenges(in: value)?.map { challenge in
      let parameters = challenge.parameters.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
      return ([challenge.scheme] + (challenge.token68.map { ["<\($0)>"] } ?? []) + parameters).joined(separator: " ")
    }
  }

  @Test("The examples of RFC 9110 and RFC 6750 are read")
  func examples() {
    expectEqual(
      read(#"Basic realm="simple", Newauth realm="apps", type=1, title="Login to \"apps\"""#),
      ["Basic realm=simple", #"Newauth realm=apps title=Login to "apps" type=1"#])
    expectEqual(
      read(#"Bearer realm="example", error="invalid_token", error_description="The access token expired""#),
      ["Bearer error=invalid_token error_description=The access token expired realm=example"])
    expectEqual(read(#"Bearer realm="example""#), ["Bearer realm=example"])
  }

  @Test(
    "Schemes alone, token68, empty elements and blanks are read",
    arguments: [
      ("", []), (" ,, ", []), ("Negotiate", ["Negotiate"]), ("Negotiate, Basic", ["Negotiate", "Basic"]),
      ("Negotiate a87421000492aa874209af8bc028==", ["Negotiate <a87421000492aa874209af8bc028==>"]),
      ("Negotiate abc=, Bearer realm=x", ["Negotiate <abc=>", "Bearer realm=x"]),
      (",Basic realm = \"a\" ,, charset=\"UTF-8\" , Bearer", ["Basic charset=UTF-8 realm=a", "Bearer"]),
      ("Basic REALM=\"a,b=c\"", ["Basic realm=a,b=c"]), ("Basic realm=\"\"", ["Basic realm="]),
      ("Basic , realm=\"foo\"", ["Basic realm=foo"]),
      ("Basic ,,\t, realm = foo,, type=1", ["Basic realm=foo type=1"]),
      ("Basic ,realm=foo, Bearer , error=x", ["Basic realm=foo", "Bearer error=x"]),
      ("Negotiate , Basic , Bearer", ["Negotiate", "Basic", "Bearer"]), ("Basic , ", ["Basic"]),
      ("Basic , realm", ["Basic", "realm"]),
      ("Negotiate , NTLM abc=", ["Negotiate", "NTLM <abc=>"]),
    ] as [(String, [String])])
  func accepted(value: String, expected: [String]) {
    expectEqual(read(value), expected)
  }

  @Test(
    "A malformed value has no challenges",
    arguments: [
      "\"Basic\"", "Basic realm=\"a", "Basic realm=\"a\"x", "Basic realm=a realm=b", "Basic realm=a, REALM=b",
      "Basic =a",
      "Basic realm=a b", "Basic\trealm=a", "Basic realm=a,type=", "Basic realm=\"\\", "Bäsic", "Basic a b",
      "Basic realm=a, Bearer ?", "Basic, realm=foo", "Basic , realm=\"a", "Basic , a=b c", "Basic , =a",
      "Basic , \"a\"",
    ])
  func refused(value: String) {
    #expect(read(value) == nil)
  }

  @Test("A response has all readable challenges of its fields")
  func fields() throws {
    let headers = try HTTPHeaders([
      ("WWW-Authenticate", "Basic realm=\"a"), ("www-authenticate", "Bearer error=\"invalid_token\""),
      ("WWW-Authenticate", "Digest qop=auth"),
    ])
    let response = HTTPResponse(to: anyRequest(), status: .unauthorized, headers: headers)

    expectEqual(response.challenges.map(\.scheme), ["Bearer", "Digest"])
    #expect(response.challenges[0]["ERROR"] == "invalid_token" && response.challenges[0].isOf(scheme: "bearer"))
  }
}
