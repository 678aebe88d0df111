import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPStore
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("Server-sent events") struct ServerSentEventsTests {
  @Test("The events of several connections arrive in order, and each request has the ID of the last event")
  func reconnects() async {
    let script = ScriptedStreams(
      .events("id: 1\ndata: a\n\ndata: b\n\nid: 2\ndata: lost"), .events("data: c\n\n", then: .error(.connectionLost)),
      .error(.cannotConnect), .events("id\ndata: d\n\n"), .events("id: 3\n\nid: 4\n"), .events(""),
      .head(.noContent, type: nil))
    let events = script.feed()

    await expectEqual(events.data(), ["a", "b", "c", "d"])

    expectEqual(script.lastEventIDs, ["-", "1", "1", "1", "-", "3", "3"])
    expectEqual(events.transfer.text, "success")
  }

  @Test("The ID of a returned event does not include events that the reader has not received")
  func unreadID() async throws {
    let script = ScriptedStreams(.events("id: 1\ndata: a\n\nid: 2\ndata: b\n\n", then: .open))
    var events = script.feed().makeAsyncIterator()

    let event = try await events.next()

    expectEqual(event, ServerSentEvent(data: "a", id: "1"))
  }

  @Test("The request asks for events, uncached, as a stream, and keeps its own fields")
  func request() async throws {
    let script = ScriptedStreams(.head(.noContent), .head(.noContent))
    _ = await script.events("http://example.com/feed", query: [("a", "b")]).data()
    _ = await script.feed { request in
      try request.setHeader("accept", "text/event-stream;q=1")
      try request.setHeader("Cache-Control", "no-transform")
      request.delivery = .stream(bufferLimit: 7)
      request.caching = .preferCached
    }.data()

    let (first, second) = (script.requests[0], script.requests[1])
    #expect(first.url?.absoluteString == "http://example.com/feed?a=b" && first.method == .get)
    expectEqual(first.headers["Accept"], "text/event-stream")
    expectEqual(first.headers["Cache-Control"], "no-cache")
    #expect(first.delivery.isStream)
    expectEqual(first.caching, .off)
    expectEqual(second.headers.values(for: "Accept"), ["text/event-stream;q=1"])
    expectEqual(second.headers.values(for: "Cache-Control"), ["no-transform"])
    expectEqual(second.caching, .off)
  }

  @Test("A stored response is not a connection: events never come from a cache, and are not stored")
  func uncached() async throws {
    let (cache, mock) = (HTTPCache(), MockLoader())
    let headers = try HTTPHeaders([("Content-Type", "text/event-stream"), ("Cache-Control", "max-age=600")])
    mock.answer(headers: headers, body: "data: stored\n\n")
    mock.answer(headers: headers, body: "data: new\n\n")
    let api = CacheResponses(in: cache) --> mock
    _ = try await api.load(HTTPRequest("https://example.com/feed")).value

    let events = api.events("https://example.com/feed", reconnecting: .never)

    await expectEqual(events.data(), ["new"])
    expectEqual(mock.requests.count, 2)
    expectEqual(cache.count, 1)
    expectEqual(cache.counts.hits, 0)
  }

  @Test(
    "A response that is not a stream of events ends the sequence",
    arguments: [
      (500, "text/event-stream", "unacceptableStatus"), (206, "text/event-stream", "unacceptableStatus"),
      (301, nil, "unacceptableStatus"), (200, "text/html", "unacceptableContentType"),
      (200, nil, "unacceptableContentType"), (200, "text/event-streams", "unacceptableContentType"),
    ] as [(Int, String?, String)])
  func refused(status: Int, type: String?, code: String) async throws {
    let script = ScriptedStreams(.head(HTTPStatus(status), type: type))
    let events = script.feed()
    var iterator = events.makeAsyncIterator()

    for _ in 1...2 {
      let error = await #expect(throws: HTTPError.self) { try await iterator.next() }
      #expect("\(try #require(error).code)" == code && error?.response?.status.code == status)
    }

    expectEqual(events.transfer.text, code)
    expectEqual(script.requests.count, 1)
  }

  @Test("The parameters and the case of the content type are ignored")
  func contentType() async {
    let script = ScriptedStreams(.head(.ok, type: "Text/Event-Stream ; charset=utf-8"), .head(.noContent))

    await expectEqual(script.feed().data(), [])
    expectEqual(script.requests.count, 2)
  }

  @Test("A stream of another type is closed")
  func otherStream() async throws {
    let script = ScriptedStreams()
    let events = script.feed()
    let data = Task { await events.data() }
    await script.waitForLoad(1)
    script.lastLoad?.succeed(script.stream("", type: "text/plain", for: script.requests[0]))

    await expectEqual(data.value, ["error: unacceptableContentType"])
    expectEqual(script.stopCount, 1)
    expectEqual(events.transfer.text, "pending")
    script.writers[0].fail(HTTPError(.connectionLost, "It was closed."))
    expectEqual(events.transfer.text, "unacceptableContentType")
  }

  @Test("An error that another connection does not fix ends the sequence, after the events before it")
  func fatal() async {
    let script = ScriptedStreams(.events("data: a\n\n"), .events("data: b\n\ndata", then: .error(.ambiguousBody)))
    let events = script.feed()

    await expectEqual(events.data(), ["a", "b", "error: ambiguousBody"])
    expectEqual(events.transfer.text, "ambiguousBody")
  }

  @Test("Without reconnections, the outcome of the connection is the outcome of the sequence")
  func never() async {
    let script = ScriptedStreams(.events("data: a\n\n"), .events("data: b\n\n", then: .error(.connectionLost)))

    await expectEqual(script.feed(.never).data(), ["a"])
    await expectEqual(script.feed(.never).data(), ["b", "error: connectionLost"])
  }

  @Test("Failed reconnections are limited, and an event begins the count again")
  func limited() async {
    let script = ScriptedStreams(
      .error(.cannotConnect), .error(.cannotConnect), .events("data: a\n\n"), .events(""), .error(.timedOut))
    let events = script.feed(EventReconnection(delay: .zero, attempts: 2))

    await expectEqual(events.data(), ["a", "error: timedOut"])
    expectEqual(script.requests.count, 5)
  }

  @Test("A request with a method that is not idempotent is sent once")
  func post() async {
    let script = ScriptedStreams(.events("data: a\n\n"))

    await expectEqual(script.feed { $0.method = .post }.data(), ["a"])
    expectEqual(script.requests.count, 1)
  }

  @Test(
    "A reconnection to another origin ends the sequence",
    arguments: ["http://example.org/feed", "https://example.com/feed", "http://example.com:81/feed"])
  func otherOrigin(url: String) async throws {
    let script = ScriptedStreams(
      .events("data: a\n\n", at: "http://example.com/other"), .events("data: b\n\n", at: "http://example.com:80/x"),
      .events("data: stolen\n\n", then: .open, at: url))

    await expectEqual(script.feed().data(), ["a", "b", "error: eventsAtOtherOrigin"])
    expectEqual(script.stopCount, 1)
  }

  @Test("The first connection may be redirected to another origin")
  func firstOrigin() async {
    let script = ScriptedStreams(
      .events("data: a\n\n", at: "http://cdn.example.com/1"), .events("data: b\n\n", at: "http://cdn.example.com/2"),
      .events("data: c\n\n"))

    await expectEqual(script.feed().data(), ["a", "b", "error: eventsAtOtherOrigin"])
  }

  @Test(
    "A reconnection sends the ID of the last event without the blanks around it (H13, tolerant reading)",
    arguments: [
      ("42 ", "42"), (" 42", "42"), ("\t42", "42"), ("a b", "a b"), ("café-1", "café-1"), ("\u{85}", "\u{85}"),
      ("  ", nil), ("a\u{1}b", "0"), ("\u{7F}", "0"), ("\0", "0"),
    ] as [(String, String?)])
  func sentID(id: String, sent: String?) async throws {
    let script = ScriptedStreams(.events("id: 0\n\nid: \(id)\ndata: a\n\n"), .events("data: b\n\n"), .head(.noContent))

    await expectEqual(script.feed().data(), ["a", "b"])
    expectEqual(script.requests.map { $0.headers["Last-Event-ID"] }, [nil, sent, sent])
  }

  @Test("An event that is too large ends the sequence, and closes the connection")
  func tooLarge() async {
    let script = ScriptedStreams(.events("data: a\n\ndata: \(String(repeating: "b", count: 100))", then: .open))

    await expectEqual(script.feed().data(), ["a", "error: eventTooLarge"])
    expectEqual(script.stopCount, 1)
  }

  @Test("A request that cannot be built fails the sequence")
  func invalidRequest() async {
    let script = ScriptedStreams()
    let events = script.feed(url: "ftp://example.com/")

    expectEqual(events.transfer.text, "invalidURL")
    expectEqual("\(events)", "events of an invalid request")
    for _ in 1...2 { await expectEqual(events.data(), ["error: invalidURL"]) }
    #expect(script.requests.isEmpty)
  }

  @Test("A sequence is read once, and its description contains no secrets")
  func oneReader() async {
    let events = ScriptedStreams(.head(.noContent)).feed(url: "http://example.com/feed?\(sentinel)")
    await expectEqual(events.data(), [])

    await expectEqual(events.data(), ["error: bodyAlreadyRead"])
    var dumped = ""
    dump(events, to: &dumped)
    #expect("\(events)" == "events of GET http://example.com/feed?…" && !dumped.contains(sentinel))
  }

  @Test("A slow reader whose connection ended gets the events that arrived, and reconnects")
  func slowReader() async throws {
    let script = ScriptedStreams(
      .events("id: 1\ndata: a\n\n", then: .open), .events("id: 3\ndata: c\n\n"), .head(.noContent))
    var events = script.feed().makeAsyncIterator()
    try await expectEqual(events.next()?.data, "a")

    try script.writers[0].write(Data("id: 2\ndata: b\n\n".utf8))
    script.clock.advance(by: .seconds(60))

    expectEqual(script.writers[0].transfer.text, "bodyNotRead")
    try await expectEqual(events.next()?.data, "b")
    try await expectEqual(events.next()?.data, "c")
    #expect(try await events.next() == nil)
    expectEqual(script.lastEventIDs, ["-", "2", "3"])
  }

  @Test("With an idle time limit, a silent connection is followed by another")
  func silent() async throws {
    let script = ScriptedStreams(
      .events("data: a\n\n", then: .open), .events("data: b\n\n"), .head(.noContent), confirms: true)
    let clock = ManualClock()
    var events = (Timeout(idle: .seconds(30), clock: clock) --> script).feed().makeAsyncIterator()
    try await expectEqual(events.next()?.data, "a")

    clock.advance(by: .seconds(30))

    try await expectEqual(events.next()?.data, "b")
    #expect(try await events.next() == nil)
    expectEqual(script.stopCount, 1)
  }

  @Test("With a retry, a transient status is followed by another request")
  func retried() async {
    let script = ScriptedStreams(.head(.serviceUnavailable), .events("data: a\n\n"), .head(.noContent))

    await expectEqual((Retry(.immediately()) --> script).feed().data(), ["a"])
    expectEqual(script.requests.count, 3)
  }

  @Test("Nothing connects before the reader asks, and a reconnection waits for the delay of the server")
  func delay() async throws {
    let clock = ManualClock()
    let script = ScriptedStreams(.events("retry: 5000\ndata: a\n\n"), .events("data: b\n\n"), .head(.noContent))
    let events = script.events("http://example.com/feed", clock: clock)
    #expect(script.requests.isEmpty)
    let data = Task { await events.data() }

    for count in 1...2 {
      while clock.timerCount == 0 { await Task.yield() }
      clock.advance(by: .milliseconds(4_999))
      expectEqual(script.requests.count, count)
      clock.advance(by: .milliseconds(1))
    }

    await expectEqual(data.value, ["a", "b"])
    expectEqual(clock.timerCount, 0)
  }
}

// MARK: - One response

extension ServerSentEventsTests {
  @Test("The events of one response end with it")
  func response() async throws {
    let script = ScriptedStreams()
    let whole = script.stream("data: a\n\ndata: b\n\ndata: c", .whole, for: anyRequest())
    let lost = script.stream("data: a\n\ndata: b", .error(.connectionLost), for: anyRequest())
    let html = script.stream("<html>", type: "text/html", for: anyRequest())

    await expectEqual(whole.events.data(), ["a", "b"])
    await expectEqual(whole.events.data(), ["error: bodyAlreadyRead"])
    await expectEqual(lost.events.data(), ["a", "error: connectionLost"])
    await expectEqual(html.events.data(), ["error: unacceptableContentType"])
    expectEqual(script.stopCount, 1)
    #expect("\(whole.events)" == "events of GET http://example.com/")
  }

  @Test("Leaving the events of one response closes its connection")
  func responseLeft() async throws {
    let script = ScriptedStreams()
    let response = script.stream("data: a\n\ndata: b\n\n", for: anyRequest())

    for try await _ in response.events { break }

    expectEqual(script.stopCount, 1)
  }
}
