import Foundation
import FutureTreeHTTP
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Bodies from values") struct HTTPBodyEncodingTests {
  private struct Item: Encodable {
    var prices: [Double]
  }

  @Test("A value is sent as JSON by the given encoder")
  func json() throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]

    let body = try HTTPBody.json(["b": 1, "a": 2], encoder: encoder)

    expectEqual(body.contentType, "application/json")
    try expectEqual(body.bytes(), Data(#"{"a":2,"b":1}"#.utf8))
    expectEqual(body.contentLength, 13)
  }

  @Test("A value without a JSON form fails, and the error shows its path but not its value")
  func unencodable() {
    let error = #expect(throws: HTTPError.self) { try HTTPBody.json(["sentinel key": Item(prices: [1, .infinity])]) }

    expectEqual(error?.code, .unencodableBody)
    expectEqual(error?.message.contains("at […].prices[1] of"), true)
    expectEqual(error.map { "\($0)" }?.contains("inf"), false)
    expectEqual(error?.message.contains("sentinel"), false)
  }

  @Test("An error of the encoding is the underlying error")
  func throwing() {
    struct Broken: Error {}
    struct Thrower: Encodable { func encode(to _: any Encoder) throws { throw Broken() } }

    let error = #expect(throws: HTTPError.self) { try HTTPBody.json(Thrower()) }

    expectEqual(error?.code, .unencodableBody)
    #expect(error?.underlying is Broken)
  }

  @Test(
    "A form is encoded as by browsers",
    arguments: [
      ("a", "b", "a=b"), ("", "", "="), ("a b", "c+d", "a+b=c%2Bd"), ("a&b", "c=d;e", "a%26b=c%3Dd%3Be"),
      ("*-._", "~!'()", "*-._=%7E%21%27%28%29"), ("ü", "😀", "%C3%BC=%F0%9F%98%80"), ("a", "\r\n\0%", "a=%0D%0A%00%25"),
    ])
  func form(name: String, value: String, text: String) throws {
    let body = HTTPBody.form([(name, value)])

    try expectEqual(String(decoding: body.bytes(), as: UTF8.self), text)
    expectEqual(body.contentType, "application/x-www-form-urlencoded")
  }

  @Test("The fields of a form keep their order, and names may repeat")
  func formOrder() throws {
    try expectEqual(HTTPBody.form([("b", "1"), ("a", "2"), ("b", "3")]).bytes(), Data("b=1&a=2&b=3".utf8))
    #expect(try HTTPBody.form([]).bytes().isEmpty)
  }
}
