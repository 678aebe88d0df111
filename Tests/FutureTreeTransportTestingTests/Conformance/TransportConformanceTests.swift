import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTransportTesting
import TestSupport
import Testing

@Suite("TransportConformance", .onSockets, .timeLimit(.minutes(20))) struct TransportConformanceTests {
  typealias Check = TransportConformance.Check

  private static let addedFields = ["Accept", "Accept-Encoding", "Accept-Language", "User-Agent"]

  private func suite(
    limits: [TransportConformance.Limit] = [], clock: FaultClock = FaultClock(),
    _ make: @escaping @Sendable () -> any HTTPLoader
  ) -> TransportConformance {
    TransportConformance("faulty", limits: limits, addedFields: Self.addedFields, clock: clock, makeTransport: make)
  }

  @Test("A faulty transport fails the checks that name its fault, and no others", arguments: Fault.all)
  func faults(fault: Fault) async {
    let report = await suite { fault.make() }.run(only: fault.failed + fault.passed)

    expectEqual(report.nonconforming, fault.failed, "\(report)")
    #expect(!report.isConforming)
  }

  @Test("A check that could not begin is a failure, also if it has a limit")
  func limitedWithoutTransport() async {
    struct Broken: Error {}
    let suite = TransportConformance("broken", limits: [.init(.redirects, "The platform follows them.")]) {
      throw Broken()
    }

    let report = await suite.run(only: [.redirects])

    expectEqual(report.nonconforming, [.redirects])
  }

  static let fields: [(check: Check, fields: [String: String], isConforming: Bool)] = [
    (.fieldNames, ["/0": "a"], true), (.fieldNames, ["/0": "b"], false), (.fieldNames, ["/2": "a"], false),
    (.nulBytes, ["/0": "a b", "/2": "a"], true), (.nulBytes, ["/0": "a"], false), (.nulBytes, ["/1": "a"], false),
  ]

  @Test("A transport can repair header fields as RFC 9110 and RFC 9112 permit, and not otherwise", arguments: fields)
  func repairedFields(check: Check, fields: [String: String], isConforming: Bool) async {
    let report = await suite {
      FaultyTransport { request, base in
        guard let value = fields[request.path] else { return base.load(request) }
        return .attempt {
          let headers = try HTTPHeaders([("X-A", value)])
          return .succeeded(HTTPResponse(to: request, status: .ok, headers: headers, body: Data("ok".utf8)))
        }
      }
    }.run(only: [check])

    expectEqual(report.isConforming, isConforming, "\(report)")
  }

  enum Hang: CaseIterable {
    case neverCompletes, ignoresCancel, leaksForced, ignoresReset, sharesLoads, ignoresTimeLimit,
      buffersStreams

    var check: Check {
      switch self {
      case .neverCompletes: .framings
      case .ignoresCancel: .cancelledBeforeHead
      case .leaksForced: .forced
      case .ignoresReset: .resetWaits
      case .sharesLoads: .sameRequestTwice
      case .ignoresTimeLimit: .requestTimeout
      case .buffersStreams: .streamHead
      }
    }

    /// - Parameter occurred: Completes when the fault has occurred, so that the check cannot pass.
    func transport(_ occurred: Promise<Void>) -> FaultyTransport {
      let loads = Locked<[Future<HTTPResponse>]>([])
      let reset: FaultyTransport.Reset = { base in self == .ignoresReset ? .succeeded : base.reset() }
      return FaultyTransport(reset: reset) { request, base in
        switch self {
        case .neverCompletes:
          occurred.succeed()
          return Promise<HTTPResponse>.pending
        case .ignoresCancel, .leaksForced:
          let (load, promise) = (base.load(request), Promise<HTTPResponse>())
          loads.withLock { $0.append(load) }
          load.observe { outcome in promise.complete(with: outcome) }
          promise.onRequestCancel { _ in
            occurred.succeed()
            return .continue
          }
          return promise.future
        case .ignoresReset:
          occurred.succeed()
          return base.load(request)
        case .sharesLoads:
          if let first = loads.value.first {
            occurred.succeed()
            return first
          }
          let load = base.load(request)
          loads.withLock { $0.append(load) }
          return load
        case .ignoresTimeLimit:
          var request = request
          if request.timeout != nil { occurred.succeed() }
          request.timeout = nil
          return base.load(request)
        case .buffersStreams:
          var request = request
          if request.delivery.isStream { occurred.succeed() }
          request.delivery = .buffered()
          return base.load(request)
        }
      }
    }
  }

  @Test(
    "A check that a transport never ends fails at the time limit, and the next check is run", arguments: Hang.allCases)
  func hangs(hang: Hang) async {
    let clock = FaultClock()
    let isFirst = Locked(true)
    let conformance = suite(clock: clock) {
      let isFaulty = isFirst.withLock { first in
        defer { first = false }
        return first
      }
      return isFaulty ? hang.transport(clock.fault) : SystemLoader(.init(timeout: nil))
    }

    let report = await conformance.run(only: [hang.check, .cookies])

    expectEqual(report.nonconforming, [hang.check], "\(report)")
    #expect(report.description.contains("did not end within 60 s"), "\(report)")
  }

  @Test("A check with a limit that fails is a limit, and one that passes makes the report fail")
  func limits() async {
    let fault = Fault.all[0]
    let limit = TransportConformance.Limit(.redirects, "The platform follows redirects.")
    let faulty = await suite(limits: [limit]) { fault.make() }.run(only: [.redirects, .cookies])
    let correct = await suite(limits: [limit]) { SystemLoader(.init(timeout: nil)) }.run(only: [.redirects])

    #expect(faulty.isConforming && faulty.description.contains("limit: The platform follows redirects."))
    expectEqual(correct.nonconforming, [.redirects])
    #expect(correct.description.contains("The limit has disappeared."))
  }

  @Test("A check with a limit fails if a fault does not contain the text of the limit")
  func otherFaults() async {
    let fault = Fault.all[0]
    let texts = ["the transport followed a redirect", "expected a response with 5 bytes", "of 14 requests", nil]
    for text in texts {
      let limit = TransportConformance.Limit(.redirects, "The platform follows redirects.", faultText: text)

      let report = await suite(limits: [limit]) { fault.make() }.run(only: [.redirects])

      expectEqual(report.nonconforming, text == nil ? [] : [.redirects], "\(report)")
    }
  }

  @Test("A check that ends the process is run only by its name, so its disappearance is reported only then")
  func endsProcess() async {
    let limits = Check.all.map { TransportConformance.Limit($0, "It ends the process.", endsProcess: true) }
    let conformance = suite(limits: limits) { SystemLoader(.init(timeout: nil)) }

    let all = await conformance.run()
    let named = await conformance.run(only: [.cookies])

    #expect(all.isConforming && all.entries.allSatisfy { $0.result == .notRun("It ends the process.") })
    expectEqual(all.entries.map(\.check), Check.all)
    expectEqual(named.nonconforming, [.cookies])
  }

  @Test("A transport that cannot be created fails each check with its error")
  func noTransport() async {
    struct Broken: Error {}
    let conformance = TransportConformance("broken") { throw Broken() }

    let report = await conformance.run(only: [.cookies])

    expectEqual(report.entries.map(\.result), [.failed(["The check could not begin: Broken()"])])
  }

  @Test("Each check has its own identifier and claim")
  func identifiers() {
    expectEqual(Set(Check.all.map(\.id)).count, Check.all.count)
    expectEqual(Set(Check.all.map(\.title)).count, Check.all.count)
    #expect(Check.all.allSatisfy { $0.rule.contains(/^[HS]\d+ \(.+\)$/) && $0.title.first?.isUppercase == true })
  }
}

extension Promise<HTTPResponse> {
  /// A future that never completes.
  fileprivate static var pending: Future<HTTPResponse> {
    let promise = Promise()
    promise.future.observe { _ in withExtendedLifetime(promise) {} }
    return promise.future
  }
}
