import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import HTTPTestSupport
import TestSupport
import Testing

/// Numbered pages for the tests: the body of a page is its number.
enum NumberedPages {
  static func request(_ number: Int) -> HTTPRequest { anyRequest("/posts?page=\(number)") }

  static func number(of response: HTTPResponse) throws -> Int {
    try #require(Int(String(decoding: try response.body, as: UTF8.self)))
  }

  /// Answers each request with the page that it names.
  static let answer = MockAnswer.make { request in
    HTTPResponse(to: request, status: .ok, body: Data((request.query ?? "").utf8.drop { $0 != 0x3D }.dropFirst()))
  }

  /// Returns the closure that derives the next request. It logs the page that it receives.
  static func next(
    _ log: Recorder = Recorder(), upTo last: Int = .max
  ) -> @Sendable (HTTPResponse) throws -> HTTPRequest? {
    { response in
      let number = try number(of: response)
      log("after \(number)")
      return number < last ? request(number + 1) : nil
    }
  }
}

extension HTTPPages {
  /// Iterates over the pages up to a number, and returns their numbers and the end.
  func logged(upTo last: Int = .max) async -> [String] {
    var entries: [String] = []
    do {
      for try await response in self {
        let number = try NumberedPages.number(of: response)
        entries.append("\(number)")
        if number == last { return entries }
      }
      entries.append("end")
    } catch {
      entries.append(Outcome<Void>.failure(error).text)
    }
    return entries
  }
}

@Suite("Pages") struct PagesTests {
  private let mock = MockLoader()
  private let log = Recorder()
  private let first = NumberedPages.request(1)

  @Test("Each page is requested when the iterator asks for it, in order")
  func order() async throws {
    mock.onOthers(NumberedPages.answer)
    var iterator = mock.pages(first, next: NumberedPages.next(log, upTo: 3)).makeAsyncIterator()
    #expect(mock.requests.isEmpty)

    for number in 1...3 {
      try await expectEqual(iterator.next().map(NumberedPages.number), number)
      expectEqual(mock.requests.count, number)
      expectEqual(log.count, number - 1)
    }
    for _ in 1...2 { #expect(try await iterator.next() == nil) }

    expectEqual(mock.requests.map(\.query), ["page=1", "page=2", "page=3"])
    expectEqual(log.entries, ["after 1", "after 2", "after 3"])
  }

  @Test("Each iteration begins at the first page")
  func iterations() async {
    mock.onOthers(NumberedPages.answer)
    let pages = mock.pages(first, next: NumberedPages.next(upTo: 2))

    for _ in 1...2 { await expectEqual(pages.logged(), ["1", "2", "end"]) }

    expectEqual(mock.requests.count, 4)
  }

  @Test("An error ends the iteration after the pages before it", arguments: [0, 1, 5])
  func errorInTheMiddle(lookAhead: Int) async throws {
    mock.on(.query("page", "3"), .status(.serviceUnavailable))
    mock.onOthers(NumberedPages.answer)
    var iterator = mock.pages(first, lookAhead: lookAhead, next: NumberedPages.next(log)).makeAsyncIterator()

    for number in 1...2 { try await expectEqual(iterator.next().map(NumberedPages.number), number) }
    let error = await #expect(throws: HTTPError.self) { _ = try await iterator.next() }

    expectEqual(error?.code, .unacceptableStatus)
    expectEqual(error?.response?.status, .serviceUnavailable)
    #expect(try await iterator.next() == nil)
    expectEqual(mock.requests.count, 3)
    expectEqual(log.entries, ["after 1", "after 2"])
  }

  @Test("A failed first page is the error of the iteration", arguments: [0, 3])
  func firstFails(lookAhead: Int) async {
    mock.fail(Oops())

    await expectEqual(mock.pages(first, lookAhead: lookAhead, next: NumberedPages.next()).logged(), ["oops"])
    expectEqual(mock.requests.count, 1)
  }

  @Test("An error of the closure ends the iteration after its page", arguments: [0, 1, 5])
  func closureThrows(lookAhead: Int) async throws {
    mock.onOthers(NumberedPages.answer)
    let pages = mock.pages(first, lookAhead: lookAhead) { response in
      guard try NumberedPages.number(of: response) < 2 else { throw Oops() }
      return NumberedPages.request(2)
    }

    await expectEqual(pages.logged(), ["1", "2", "oops"])
    expectEqual(mock.requests.count, 2)
  }

  @Test("The iteration of a cancelled load ends with the cancellation")
  func loadCancelled() async {
    let held = mock.hold()
    let pages = mock.pages(first, next: NumberedPages.next())
    let task = Task { for try await _ in pages {} }
    _ = await held.loaded.outcome

    held.complete(.cancelled)

    await #expect(throws: FutureCancelled.self) { try await task.value }
  }
}

// MARK: - The limit

extension PagesTests {
  @Test("One page more than the limit is an error with the last page", arguments: [0, 1, 5])
  func limit(lookAhead: Int) async throws {
    mock.onOthers(NumberedPages.answer)
    let pages = mock.pages(first, lookAhead: lookAhead, limit: 2, next: NumberedPages.next())
    var iterator = pages.makeAsyncIterator()

    for number in 1...2 { try await expectEqual(iterator.next().map(NumberedPages.number), number) }
    let error = await #expect(throws: HTTPError.self) { _ = try await iterator.next() }

    expectEqual(error?.code, .tooManyPages)
    expectEqual(error?.message.contains("the limit of pages, 2"), true)
    try expectEqual(error?.response.map(NumberedPages.number), 2)
    expectEqual(mock.requests.count, 2)
  }

  @Test("As many pages as the limit are no error")
  func exactLimit() async {
    mock.onOthers(NumberedPages.answer)

    await expectEqual(mock.pages(first, limit: 2, next: NumberedPages.next(upTo: 2)).logged(), ["1", "2", "end"])
  }

  @Test("The limit is 1,000 by default, at least 1, and `nil` disables it")
  func limits() async throws {
    mock.onOthers(NumberedPages.answer)

    await expectEqual(mock.pages(first, next: NumberedPages.next()).logged().suffix(2), ["1000", "tooManyPages"])
    var iterator = mock.pages(first, limit: -1, next: NumberedPages.next()).makeAsyncIterator()
    _ = try await iterator.next()
    let error = await #expect(throws: HTTPError.self) { _ = try await iterator.next() }
    expectEqual(error?.message.contains("the limit of pages, 1."), true)
    await expectEqual(
      mock.pages(first, lookAhead: .max, limit: nil, next: NumberedPages.next(upTo: 2_000)).logged().suffix(2),
      ["2000", "end"])
  }

  @Test("A circle of pages ends at the limit")
  func circle() async {
    mock.onOthers(NumberedPages.answer)
    let pages = mock.pages(first, limit: 4) { response in
      NumberedPages.request(3 - (try NumberedPages.number(of: response)))
    }

    await expectEqual(pages.logged(), ["1", "2", "1", "2", "tooManyPages"])
  }
}

// MARK: - Look-ahead

extension PagesTests {
  @Test(
    "No more pages are loaded ahead than allowed",
    arguments: [(0, 0), (1, 1), (2, 2), (7, 7), (-1, 0), (Int.min, 0), (100, 100), (101, 100), (Int.max, 100)])
  func lookAhead(given: Int, expected: Int) async throws {
    mock.onOthers(NumberedPages.answer)
    var iterator = mock.pages(first, lookAhead: given, next: NumberedPages.next(log)).makeAsyncIterator()
    #expect(mock.requests.isEmpty)

    for number in 1...5 {
      try await expectEqual(iterator.next().map(NumberedPages.number), number)
      expectEqual(mock.requests.count, number + expected)
      expectEqual(log.count, number + expected - 1)
    }
  }

  @Test("One page is loaded at a time, also ahead of the iterator")
  func oneAtATime() async throws {
    let held = (1...3).map { number in mock.hold(.query("page", "\(number)")) }
    let pages = mock.pages(first, lookAhead: 5, next: NumberedPages.next(upTo: 3))
    let task = Task { await pages.logged() }

    for (index, answer) in held.enumerated() {
      _ = await answer.loaded.outcome
      expectEqual(mock.requests.count, index + 1)
      expectEqual(mock.pendingCount, 1)
      answer.answer(body: "\(index + 1)")
    }

    await expectEqual(task.value, ["1", "2", "3", "end"])
    expectEqual(mock.requests.count, 3)
  }

  @Test("Pages that were read are released", arguments: [0, 2])
  func released(lookAhead: Int) async throws {
    let marks = Locked<[WeakMark]>([])
    let pages = Echo().pages(first, lookAhead: lookAhead) { _ in
      let mark = Mark()
      marks.withLock { $0.append(WeakMark(mark: mark)) }
      var request = NumberedPages.request(2)
      request[option: Mark.self] = mark
      return request
    }
    var iterator = pages.makeAsyncIterator()

    for _ in 1...10 { _ = try await iterator.next() }

    let living = marks.withLock { $0.count { $0.mark != nil } }
    expectEqual(living, max(1, lookAhead))
    expectEqual(marks.withLock { $0.count }, lookAhead + 9)
    withExtendedLifetime(iterator) {}
  }
}

/// An object that lives as long as its request.
private final class Mark: HTTPRequestOption, Sendable {
  static var defaultValue: Mark? { nil }
}

private struct WeakMark: Sendable {
  weak let mark: Mark?
}

/// A loader that answers each request with an empty page, and keeps nothing.
private struct Echo: HTTPLoader {
  func load(_ request: HTTPRequest) -> Future<HTTPResponse> { .succeeded(HTTPResponse(to: request, status: .ok)) }

  func reset() -> Future<Void> { .succeeded }
}
