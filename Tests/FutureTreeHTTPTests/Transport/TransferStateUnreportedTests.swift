import Foundation
import Testing

@testable import FutureTreeHTTP

/// Row 37 of the article *URLSession on Linux*.
@Suite("TransferState, of a redirect that the platform does not report") struct TransferStateUnreportedTests {
  private var state = TransferState(TransferState.Rules())
  private let whole = try! HTTPHeaders([("Content-Length", "0")])

  /// The status of the answer, or how it ended.
  private func ending(_ status: Int, _ headers: HTTPHeaders, of state: inout TransferState) -> String {
    let head = TransferState.Head(status: HTTPStatus(status), headers: headers)
    switch state.transportEnded(unreported: head) {
    case .end(.response(let head, let body), _): return "\(head.status) with \(body.count) bytes"
    case .end(.failure(let error), _): return "\(error.code)"
    case .end(.cancelled, _): return "cancelled"
    default: return "no end"
    }
  }

  @Test("an empty body is whole, and one of unknown length is lost")
  mutating func bodies() throws {
    var (lost, head) = (state, TransferState(TransferState.Rules(expectsBody: false)))

    #expect(ending(302, whole, of: &state) == "302 with 0 bytes")
    #expect(ending(302, HTTPHeaders(), of: &lost) == "invalidRedirect")
    #expect(ending(302, HTTPHeaders(), of: &head) == "302 with 0 bytes")
  }

  @Test("after a request to cancel, an answer that is whole is kept, and one that lost its body is none")
  mutating func cancelled() {
    _ = state.cancelAsked()
    var lost = state

    #expect(ending(302, whole, of: &state) == "302 with 0 bytes")
    #expect(ending(302, HTTPHeaders(), of: &lost) == "cancelled")
  }

  @Test("an informational answer alone is no answer")
  mutating func informational() {
    #expect(ending(103, HTTPHeaders(), of: &state) == "invalidResponse")
  }
}
