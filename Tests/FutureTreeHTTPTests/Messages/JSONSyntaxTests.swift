import Foundation
import Testing

@testable import FutureTreeHTTP

@Suite("Faults in JSON") struct JSONSyntaxTests {
  @Test(
    "The first invalid byte is found",
    arguments: [
      ("", 0), ("x", 0), ("  ", 2), ("[1,2", 4), ("[1,]", 3), ("[1] x", 4), ("[01]", 2), ("{\"a\" 1}", 5),
      ("{\"a\":1,}", 7), ("{a:1}", 1), ("\"a", 2), ("\"a\nb\"", 2), ("\"\\q\"", 2), ("\"\\u12g4\"", 5), ("[1}", 2),
      ("-", 1), ("1.", 2), ("1e+", 3), ("tru", 3), ("nul1", 3), ("[\"a\" \"b\"]", 5), ("{1:2}", 1), ("{,}", 1),
      ("]", 0),
      ("1 2", 2), ("\u{FEFF}[", 4), ("[,]", 1), ("{\"a\":}", 5), ("+1", 0), (".5", 0),
    ])
  func fault(text: String, offset: Int) {
    #expect(JSONSyntax.fault(in: Data(text.utf8)) == offset)
  }

  @Test(
    "Valid JSON has no fault",
    arguments: [
      "1", "-0.5e-10", "[]", "{}", "\"\\u00e9\\\"é\"", " [ 1 , {\"a\" : [ null , true ] } , false ]\r\n\t", "\u{FEFF}0",
      "[[],[{}]]",
    ])
  func valid(text: String) {
    #expect(JSONSyntax.fault(in: Data(text.utf8)) == nil)
  }

  @Test("Any depth needs constant stack")
  func depth() {
    let opening = String(repeating: "[", count: 1_000_000)
    let closing = String(repeating: "]", count: 1_000_000)

    #expect(JSONSyntax.fault(in: Data(opening.utf8)) == 1_000_000)
    #expect(JSONSyntax.fault(in: Data((opening + closing).utf8)) == nil)
  }
}
