import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Layers: Redirect, progress")
struct RedirectProgressTests {
  private let mock = MockLoader()
  private let reports = Locked<[HTTPProgress]>([])

  /// Calls the progress handler of the request.
  private func report(_ request: HTTPRequest?, sent: Int, of total: Int? = nil, received: Int, of size: Int? = nil) {
    request?.progress?(
      HTTPProgress(
        sent: .init(completed: sent, total: total), received: .init(completed: received, total: size)))
  }

  @Test("Progress over several requests never decreases", arguments: [303, 307])
  func monotone(status: Int) {
    let held = [mock.hold(), mock.hold()]
    var request = anyRequest("/a")
    request.method = .post
    request.body = .data(Data(count: 100))
    request.progress = { [reports] progress in reports.withLock { $0.append(progress) } }
    let load = (Redirect() --> mock).load(request)

    report(held[0].request, sent: 100, of: 100, received: 0)
    report(held[0].request, sent: 100, of: 100, received: 20, of: 20)
    held[0].redirect(status, to: "/b")
    let total = status == 307 ? 100 : nil
    report(held[1].request, sent: 0, of: total, received: 0)
    report(held[1].request, sent: status == 307 ? 50 : 0, of: total, received: 10, of: 15)
    report(held[1].request, sent: status == 307 ? 100 : 0, of: total, received: 500, of: 1000)
    held[1].answer()

    expectEqual(reports.value.map(\.sent.completed), [100, 100, 100, 100, 100])
    expectEqual(reports.value.map(\.sent.total), [100, 100, 100, 100, 100])
    expectEqual(reports.value.map(\.received.completed), [0, 20, 20, 20, 500])
    expectEqual(reports.value.map(\.received.total), [nil, 20, nil, 20, 1000])
    expectEqual(load.text, "success")
  }

  @Test("The request of the response has the caller's own handler, so that another load begins at zero")
  func again() throws {
    mock.on("/a", .redirect(to: "/b"))
    mock.on("/b", .text("b"))
    var request = anyRequest("/a")
    request.progress = { [reports] progress in reports.withLock { $0.append(progress) } }
    let load = (Redirect() --> mock).load(request)
    report(mock.requests[1], sent: 7, received: 7)

    report(load.outcomeIfCompleted?.value?.request, sent: 1, received: 1)

    expectEqual(reports.value.map(\.received.completed), [7, 1])
  }

  @Test("Without a handler, the transport reports no progress")
  func noHandler() {
    mock.redirect(to: "/b")

    let load = (Redirect() --> mock).load(anyRequest())

    expectEqual(load.text, "success")
    #expect(mock.requests.allSatisfy { $0.progress == nil })
  }
}
