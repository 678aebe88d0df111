import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

/// The transcript of the article's code.
private let print = Transcript()

/// The code of the article *Streaming* on lines, events and bodies that are sent. `HTTPGuideTests` compares the two.
@Suite("Guide: Streaming, lines, events and uploads", .onSockets, .serialized, .timeLimit(.minutes(20)))
struct StreamingElementsGuideSnippets {
  private static let eventsHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

  private let server: LoopbackServer
  private let api: any HTTPLoader
  private let shown = Locked<[String]>([])

  init() throws {
    server = try Loopback.server()
    let environment = try ServerEnvironment(scheme: .http, host: "127.0.0.1", port: UInt16(server.port))
    api = (ApplyEnvironment(environment) --> SystemLoader(.patient))
  }

  private struct Reading: Decodable, Sendable {
    let celsius: Int
  }

  private func show(_ text: String) { shown.withLock { $0.append(text) } }

  private func show(_ reading: Reading) { show("\(reading.celsius) °C") }

  @Test("Lines are text or JSON")
  func lines() async throws {
    server.on("/log", .respond(body: "begun\r\nended"))
    server.on("/readings", .respond(body: "{\"celsius\": 21}\n\n{\"celsius\": 22}\n"))

    // guide lines
    let log = try await api.stream("log").value
    for try await line in log.lines { print(line) }

    let readings = try await api.stream("readings").value
    for try await reading in readings.jsonLines(of: Reading.self) { show(reading) }
    // end

    #expect(print.lines == ["begun", "ended"])
    #expect(shown.value == ["21 °C", "22 °C"])
    await #expect(throws: HTTPError.self) { for try await _ in log.lines {} }
  }

  @Test("Events arrive over several connections until the status 204")
  func events() async throws {
    let event = "retry: 0\nid: 7\nevent: price\ndata: 12\n\nevent: note\ndata: closed\n\n"
    server.on("/prices", [.send(Self.eventsHead + event), .close], .status(204))
    let stopButton = StreamingGuideButton()

    // guide events
    let prices = api.events("prices", query: ["symbol": "ABC"])
    stopButton.action = { prices.transfer.cancel(reason: "the user pressed Stop") }
    for try await event in prices where event.type == "price" { show(event.data) }
    // end

    #expect(shown.value == ["12"])
    #expect(await prices.transfer.outcome.ending == .succeeded)
    #expect(server.requests.map { $0.values(for: "Last-Event-ID") } == [[], ["7"]])
    stopButton.action?()
    #expect(await prices.transfer.outcome.ending == .succeeded)
  }

  @Test("Cancelling a tree closes the connections of its sequences")
  func tree() async throws {
    for path in ["/prices", "/news"] { server.on(path, [.send(Self.eventsHead + "data: a\n\n"), .stall]) }
    let closeButton = StreamingGuideButton()

    // guide tree
    let feeds = [api.events("prices"), api.events("news")]
    let screen = Future.all(feeds.map(\.transfer))
    closeButton.action = { screen.cancel(reason: "the screen was closed") }
    // end

    var readers = feeds.map { $0.makeAsyncIterator() }
    for index in readers.indices { #expect(try await readers[index].next()?.data == "a") }
    closeButton.action?()
    for index in readers.indices {
      let error = await #expect(throws: FutureCancelled.self) { try await readers[index].next() }
      #expect(error?.reason.message == "the screen was closed")
    }
    for path in ["/prices", "/news"] { _ = try await server.waitForClose(of: path).value }
  }

  @Test("The events of one response end with it")
  func response() async throws {
    server.on(
      "/answers", .respond(headers: [("Content-Type", "text/event-stream")], body: "data: yes\n\ndata: no\n\n"))
    let question = "Is it open?"

    // guide response
    let answer = try await api.stream("answers") { request in
      request.method = .post
      request.body = try .json(question)
    }
    .value
    for try await event in answer.events { show(event.data) }
    // end

    #expect(shown.value == ["yes", "no"])
    #expect(server.requests.map(\.method) == ["POST"])
  }

  private struct Sensor: Sendable {
    func measurements() -> AsyncStream<Data> {
      AsyncStream { continuation in
        for celsius in [21, 22] { continuation.yield(Data("{\"celsius\": \(celsius)}\n".utf8)) }
        continuation.finish()
      }
    }
  }

  @Test("A body is sent as it is made")
  func upload() async throws {
    server.on("/measurements", .respond(status: 201))
    let sensor = Sensor()

    // guide upload
    let upload = api.load {
      var request = try HTTPRequest(.put, to: "measurements")
      request.body = .asyncStream(contentType: "application/x-ndjson") { sensor.measurements() }
      return request
    }
    // end

    #expect(try await upload.value.status == .created)
    let bodies = server.requests.map { String(decoding: $0.body, as: UTF8.self) }
    #expect(bodies == ["{\"celsius\": 21}\n{\"celsius\": 22}\n"])
    #expect(server.requests.map { $0.values(for: "transfer-encoding") } == [["chunked"]])
  }
}
