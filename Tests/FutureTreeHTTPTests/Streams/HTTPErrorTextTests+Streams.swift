import Foundation

@testable import FutureTreeHTTP

extension HTTPErrorTextTests {
  var streams: [Failure] {
    [
      ("lineTooLong", { try Self.split(Data("ab\n".utf8)) }),
      ("undecodableBody", { try Self.split(Data([0xFF, 0x0A])) }),
      (
        "eventTooLarge",
        {
          var parser = ServerSentEventParser(maximumEventSize: 10)
          parser.receive(Data("data: 12345\n".utf8))
          _ = try parser.next()
        }
      ),
    ]
  }

  private static func split(_ bytes: Data) throws {
    var splitter = LineSplitter(limit: 1)
    splitter.receive(bytes)
    while try splitter.next() != nil {}
  }
}
