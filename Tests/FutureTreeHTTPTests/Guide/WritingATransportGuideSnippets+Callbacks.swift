import Foundation
import FutureTree
import FutureTreeHTTP
import HTTPTestSupport
import TestSupport
import Testing

/// A network library that calls a closure. The test plays the network.
struct Phone: Sendable {
  enum Event {
    case head(HTTPStatus, [(name: String, value: String)])
    case bytes(Data)
    case ended, hungUp
    case broken(any Error)
  }

  let calls = Recorder()
  private let receive = Locked<(@Sendable (Event) -> Void)?>(nil)

  struct Call: Sendable {
    let calls: Recorder
    func begin() { calls("begin") }
    func hangUp() { calls("hangUp") }
  }

  func call(_ request: HTTPRequest, _ receive: @escaping @Sendable (Event) -> Void) -> Call {
    self.receive.value = receive
    return Call(calls: calls)
  }

  func send(_ event: Event) { receive.value?(event) }
}

// guide callbacks
struct PhoneLoader: HTTPLoader {
  let phone: Phone
  private let live = LiveLoads()

  func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
    let limits = HTTPExchange.Limits(timeout: .seconds(60), idleTimeout: nil, maximumBodySize: 64 << 20)
    let exchange: HTTPExchange
    do { exchange = try HTTPExchange(of: request, limits) } catch { return .failed(error) }
    let call = phone.call(request) { event in
      switch event {
      case .head(let status, let fields): exchange.receiveHead(status, fields)
      case .bytes(let bytes): exchange.receive(bytes)
      case .ended: exchange.end(.completed)
      case .hungUp: exchange.end(.stopped)
      case .broken(let error):
        exchange.end(.failed(HTTPError(.connectionLost, "The connection was lost. Load again.", underlying: error)))
      }
    }
    let future = exchange.start(in: live) { call.hangUp() }
    call.begin()
    return future
  }

  func drain(_ notes: ResetNotes) -> Future<Void> { live.drain(notes) }

  func reset() -> Future<Void> { live.drain() }
}
// end

/// The code of the article *Writing a transport* on callbacks, and tests of its guarantees.
@Suite("Guide: Writing a transport, callbacks") struct WritingATransportCallbacksGuideSnippets {
  private let phone = Phone()
  private let load: Future<HTTPResponse>
  private let loader: PhoneLoader

  init() {
    loader = PhoneLoader(phone: phone)
    load = loader.load(anyRequest("/feed"))
  }

  @Test("Events become a response")
  func response() throws {
    phone.send(.head(.ok, [("Content-Length", "2")]))
    phone.send(.bytes(Data("ok".utf8)))
    phone.send(.ended)

    #expect(try load.outcomeIfCompleted?.get().body == Data("ok".utf8))
    #expect(phone.calls.entries == ["begin"])
  }

  @Test("A response without its last bytes, and a broken connection, are errors (H12, whole bodies)")
  func broken() {
    let other = Phone()
    let lost = PhoneLoader(phone: other).load(anyRequest("/feed"))

    phone.send(.head(.ok, [("Content-Length", "2")]))
    phone.send(.ended)
    other.send(.broken(Oops()))

    #expect(load.outcomeIfCompleted?.code == .truncatedBody && lost.outcomeIfCompleted?.code == .connectionLost)
  }

  @Test("A reset hangs up, and waits until that is confirmed (H5, confirmed cancellation)")
  func reset() {
    let reset = loader.reset()
    #expect(phone.calls.entries == ["begin", "hangUp"] && !load.isCompleted && !reset.isCompleted)

    phone.send(.hungUp)

    #expect(load.outcomeIfCompleted?.ending == .cancelled && reset.isCompleted)
  }
}
