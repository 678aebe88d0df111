import Foundation
import FutureTree
import FutureTreeHTTP
import HTTPTestSupport
import TestSupport
import Testing

@Suite("HTTPBody.chunks") struct HTTPBodyChunksTests {
  private func chunks(of body: HTTPBody, upTo maximum: Int = 4) async throws -> [String] {
    var chunks: [String] = []
    for try await chunk in body.chunks(upTo: maximum) { chunks.append(String(decoding: chunk, as: UTF8.self)) }
    return chunks
  }

  @Test("Each kind of body is yielded whole, in chunks of at most the given size")
  func kinds() async throws {
    let folder = try Folder()
    let file = try folder.write("0123456789", to: "body")
    let stream = HTTPBody.stream(length: 10) { HTTPBodyReader(InputStream(data: Data("0123456789".utf8))) }

    for body in [.data(Data("0123456789".utf8)), .file(file), stream] {
      try await expectEqual(chunks(of: body), ["0123", "4567", "89"])
    }
    try await expectEqual(chunks(of: .empty), [])
    try await expectEqual(chunks(of: .data(Data("ab".utf8)), upTo: 0), ["a", "b"])
  }

  @Test("Each iteration opens the body again")
  func twice() async throws {
    let sequence = HTTPBody.data(Data("abc".utf8)).chunks()

    for _ in 0..<2 {
      var bytes = Data()
      for try await chunk in sequence { bytes += chunk }
      expectEqual(bytes, Data("abc".utf8))
    }
  }

  @Test("Iteration fails if the body has another length than announced, or if its source fails")
  func failures() async {
    let short = HTTPBody.stream(length: 3) { HTTPBodyReader { _ in Data() } }
    let broken = HTTPBody.stream { throw Oops() }

    let wrongLength = await #expect(throws: HTTPError.self) { _ = try await chunks(of: short) }
    let unreadable = await #expect(throws: HTTPError.self) { _ = try await chunks(of: broken) }

    expectEqual(wrongLength?.code, .wrongBodyLength)
    expectEqual(unreadable?.code, .unreadableBody)
  }

  @Test("A cancelled task gets an error, not the end of the body")
  func cancelled() async {
    let (reading, goOn) = (Promise<Void>(), DispatchSemaphore(value: 0))
    let body = HTTPBody.stream {
      HTTPBodyReader { _ in
        reading.succeed()
        goOn.wait()
        return Data("a".utf8)
      }
    }
    let load = Future.task { try await chunks(of: body) }
    _ = await reading.future.outcome

    load.cancel()
    goOn.signal()

    await expectEqual(load.outcome.ending, .cancelled)
  }
}
