import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTransportTesting
import Testing

/// A transport with one deliberate fault, over a correct transport.
final class FaultyTransport: HTTPLoader {
  typealias Load = @Sendable (HTTPRequest, SystemLoader) -> Future<HTTPResponse>
  typealias Reset = @Sendable (SystemLoader) -> Future<Void>

  private let base = SystemLoader(.init(timeout: nil))
  private let makeFuture: Load
  private let makeReset: Reset

  init(reset makeReset: @escaping Reset = { $0.reset() }, _ makeFuture: @escaping Load) {
    self.makeReset = makeReset
    self.makeFuture = makeFuture
  }

  func load(_ request: HTTPRequest) -> Future<HTTPResponse> { makeFuture(request, base) }

  func reset() -> Future<Void> { makeReset(base) }
}

/// A fault, the checks that name it, and the checks that a transport with the fault passes.
struct Fault: Sendable, CustomTestStringConvertible {
  typealias Check = TransportConformance.Check

  let testDescription: String
  let failed: [Check]
  let passed: [Check]
  let make: @Sendable () -> FaultyTransport

  init(
    _ testDescription: String, fails failed: Check..., passes passed: [Check],
    _ make: @escaping @Sendable () -> FaultyTransport
  ) {
    (self.testDescription, self.failed, self.passed, self.make) = (testDescription, failed, passed, make)
  }

  static let all = wrong + early

  private static let origins: [Check] = [.challenges, .cookies, .redirects]
  private static let delivery: [Check] = [.fileDelivered, .fileCut, .fileCancelled, .framings, .sizeLimit, .noBody]
  private static let sent: [Check] = [.target, .methods, .fieldValues, .addedFields, .bodies, .cacheableResponses]

  private static func others(of checks: [Check], than excluded: Check...) -> [Check] {
    checks.filter { !excluded.contains($0) }
  }

  private static let wrong: [Fault] = [
    Fault("follows redirects", fails: .redirects, passes: others(of: origins, than: .redirects)) {
      FaultyTransport { request, base in
        base.load(request).flatMap { response in
          guard (301...308).contains(response.status.code), let target = response.headers["Location"] else {
            return .succeeded(response)
          }
          return base.load { try HTTPRequest(target) }
        }
      }
    },
    Fault("sends cookies", fails: .cookies, passes: others(of: origins, than: .cookies)) {
      let jar = Locked<String?>(nil)
      return FaultyTransport { request, base in
        var request = request
        if let cookie = jar.value { try? request.setHeader("Cookie", cookie) }
        return base.load(request).map { response in
          jar.value = response.headers["Set-Cookie"].map { String($0.prefix { $0 != ";" }) }
          return response
        }
      }
    },
    Fault("sends no trailers", fails: .requestTrailers, passes: sent) {
      FaultyTransport { request, base in
        var request = request
        request.trailers = nil
        return base.load(request)
      }
    },
    Fault("sends credentials", fails: .challenges, passes: others(of: origins, than: .challenges)) {
      FaultyTransport { request, base in
        base.load(request).flatMap { response in
          guard response.status == .unauthorized else { return .succeeded(response) }
          var request = request
          try? request.setHeader("Authorization", "Basic dTpw")
          return base.load(request)
        }
      }
    },
    Fault("takes a cut body for a whole body", fails: .cutBody, .resetBody, passes: delivery) {
      FaultyTransport { request, base in
        base.load(request).recover { error in
          guard (error as? HTTPError)?.code == .truncatedBody, request.delivery.file == nil else {
            throw error
          }
          return HTTPResponse(to: request, status: .ok, body: Data("0123".utf8))
        }
      }
    },
    Fault("ignores the size limit", fails: .sizeLimit, passes: others(of: delivery, than: .sizeLimit)) {
      FaultyTransport { request, base in
        var request = request
        if request.delivery.file == nil { request.delivery = .buffered() }
        return base.load(request)
      }
    },
    Fault("leaves the file of a cut body", fails: .fileCut, passes: others(of: delivery, than: .fileCut)) {
      FaultyTransport { request, base in
        base.load(request).onFailure { _ in
          guard let file = request.delivery.file else { return }
          try? Data("0123".utf8).write(to: file)
        }
      }
    },
    Fault(
      "names the file of a load that ends as cancelled", fails: .fileCancelledAtEnd,
      passes: [.fileDelivered, .fileCut, .fileCancelled]
    ) {
      FaultyTransport { request, base in base.load(request).map { $0 } }
    },
    Fault("discards the last bytes before a cut", fails: .streamCutRead, passes: [.streamCut, .streamOrder]) {
      FaultyTransport { request, base in
        base.load(request).map { response in
          guard case .stream(let body) = response.content else { return response }
          let (stream, writer) = HTTPBodyStream.makeStream(for: request)
          writer.onStop { body.transfer.cancel() }
          Task {
            var last = Data()
            do {
              for try await bytes in body {
                if try !writer.write(last) { _ = await writer.room().outcome }
                last = bytes
              }
              try writer.write(last)
              writer.finish()
            } catch { writer.fail(error) }
          }
          return HTTPResponse(
            to: response.request, status: response.status, headers: response.headers, content: .stream(stream))
        }
      }
    },
    Fault("adds a header field", fails: .addedFields, passes: others(of: sent, than: .addedFields)) {
      FaultyTransport { request, base in
        var request = request
        try? request.setHeader("X-Session", "1")
        return base.load(request)
      }
    },
    Fault("caches responses", fails: .cacheableResponses, passes: others(of: sent, than: .cacheableResponses)) {
      let cache = Locked<HTTPResponse?>(nil)
      return FaultyTransport { request, base in
        if let response = cache.value { return .succeeded(response) }
        return base.load(request).map { response in
          if response.headers.contains("ETag") { cache.value = response }
          return response
        }
      }
    },
    Fault("prints a secret", fails: .printedErrors, passes: [.printedTransport]) {
      FaultyTransport { request, base in
        base.load(request).mapError { _ in
          HTTPError(.transportFailed, "The request with the query \(request.query ?? "") failed. Load again.")
        }
      }
    },
    Fault("limits the whole time of an upload", fails: .slowUpload, passes: [.progressSent, .bodies]) {
      // It measures the time itself: on a busy machine, a timer can fire after the upload.
      FaultyTransport { request, base in
        let (clock, limit) = (SystemClock(), request.idleTimeout)
        let start = clock.now
        return base.load(request).map { response in
          guard let limit, clock.now - start > limit else { return response }
          throw HTTPError(.timedOut, "The upload took too long.")
        }
      }
    },
    Fault("reports progress after the end", fails: .progressEnds, passes: [.progressReceived, .progressSent]) {
      FaultyTransport { request, base in
        let report = request.progress
        let future = base.load(request)
        future.observe { outcome in
          if outcome.ending == .cancelled { report?(HTTPProgress()) }
        }
        return future
      }
    },
  ]
}

/// A clock without time. Its first timer fires when a fault has occurred, and no other timer fires.
final class FaultClock: FutureClock {
  let fault = Promise<Void>()
  private let timerCount = Locked(0)

  var now: Duration { .zero }

  func schedule(after _: Duration, _ body: @escaping @Sendable () -> Void) -> FutureTimer {
    let isFirst = timerCount.withLock { count in
      count += 1
      return count == 1
    }
    if isFirst { fault.future.observe { _ in body() } }
    return FutureTimer {}
  }
}
