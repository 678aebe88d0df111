import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import Testing

@Suite("Layers: Redirect, progress")
struct RedirectProgressTests {
  private let mock = MockLoader()
  private let told = Locked<[HTTPProgress]>([])

  /// Tells the handler that is in the request.
  private func tell(_ request: HTTPRequest?, sent: Int, of total: Int? = nil, received: Int, of size: Int? = nil) {
    request?[option: ProgressHandler.self]?(
      HTTPProgress(
        sent: .init(completed: sent, total: total), received: .init(completed: received, total: size)))
  }

  @Test("what is told of several requests never becomes less", arguments: [303, 307])
  func monotone(status: Int) {
    let held = [mock.hold(), mock.hold()]
    var request = anyRequest("/a")
    request.method = .post
    request.body = .data(Data(count: 100))
    request[option: ProgressHandler.self] = { [told] progress in told.withLock { $0.append(progress) } }
    let load = (Redirect() --> mock).load(request)

    tell(held[0].request, sent: 100, of: 100, received: 0)
    tell(held[0].request, sent: 100, of: 100, received: 20, of: 20)
    held[0].redirect(status, to: "/b")
    let total = status == 307 ? 100 : nil
    tell(held[1].request, sent: 0, of: total, received: 0)
    tell(held[1].request, sent: status == 307 ? 50 : 0, of: total, received: 10, of: 15)
    tell(held[1].request, sent: status == 307 ? 100 : 0, of: total, received: 500, of: 1000)
    held[1].answer()

    #expect(told.value.map(\.sent.completed) == [100, 100, 100, 100, 100])
    #expect(told.value.map(\.sent.total) == [100, 100, 100, 100, 100])
    #expect(told.value.map(\.received.completed) == [0, 20, 20, 20, 500])
    #expect(told.value.map(\.received.total) == [nil, 20, nil, 20, 1000])
    #expect(load.text == "success")
  }

  @Test("the request of the answer has the caller's own handler, so that loading it again begins at zero")
  func again() throws {
    mock.on("/a", .redirect(to: "/b"))
    mock.on("/b", .text("b"))
    var request = anyRequest("/a")
    request[option: ProgressHandler.self] = { [told] progress in told.withLock { $0.append(progress) } }
    let load = (Redirect() --> mock).load(request)
    tell(mock.requests[1], sent: 7, received: 7)

    tell(load.outcomeIfCompleted?.value?.request, sent: 1, received: 1)

    #expect(told.value.map(\.received.completed) == [7, 1])
  }

  @Test("where nobody listens, the transport is not told to report")
  func nobody() {
    mock.redirect(to: "/b")

    let load = (Redirect() --> mock).load(anyRequest())

    #expect(load.text == "success" && mock.requests.allSatisfy { $0[option: ProgressHandler.self] == nil })
  }
}
