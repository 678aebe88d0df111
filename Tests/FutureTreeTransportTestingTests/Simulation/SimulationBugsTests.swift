import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import FutureTreeTransportTesting
import TestSupport
import Testing

/// Layers with one bug each. They do not know the simulation, which finds each bug.
@Suite("Simulation: bugs that it finds")
struct SimulationBugsTests {
  struct Bug: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// The beginning of the problem that is reported.
    let problem: String
    let scenario: @Sendable (SimulatedWorld) throws -> any HTTPLoader

    init(
      _ name: String, finds problem: String, _ scenario: @escaping @Sendable (SimulatedWorld) throws -> any HTTPLoader
    ) {
      testDescription = name
      self.problem = problem
      self.scenario = scenario
    }

    static let all = [
      Bug("a slot is not given back after a cancellation", finds: "Completes once") { world in
        Slots(2, .keepsSlotOfCancelledLoad) --> world.network
      },
      Bug("a slot is given back at the head of a stream", finds: "The rule “one connection at a time”") { world in
        world.expect("one connection at a time") { world.network.largestOpenCount <= 1 }
        return Slots(1, .freesSlotAtHead) --> world.network
      },
      Bug("a cancelled load is repeated", finds: "The holder completes") { world in
        Repeats(clock: world.clock, .repeatsCancelledLoads) --> world.network
      },
      Bug("the pause before a repetition is kept after a cancellation", finds: "A timer") { world in
        Repeats(clock: world.clock, .keepsPause) --> world.network
      },
      Bug("a cancellation does not reach the transport", finds: "Confirmed cancellation") { world in
        Modified { $1.shielded() } --> world.network
      },
      Bug("a cut body is a success", finds: "Whole bodies") { world in
        Modified { request, load in
          load.recover { error in
            guard (error as? HTTPError)?.code == .truncatedBody else { throw error }
            return HTTPResponse(to: request, status: .ok, body: Data("a part".utf8))
          }
        } --> world.network
      },
      Bug("a credential is sent to every host", finds: "Credentials never cross an origin") { world in
        let authorization = world.secret(of: "a.example")
        return Redirect() --> Authorizing(authorization) --> world.network
      },
      Bug("a log shows a credential", finds: "No printed secret") { world in
        Modified { _, load in
          load.map { response in
            world.log("\(response.headers["Set-Cookie"] ?? "no cookie")")
            return response
          }
        } --> world.network
      },
      Bug("a reset does not wait for the transport", finds: "Refuse, drain, wipe") { world in
        Forgets(loader: world.network)
      },
      Bug("a response of the time before a reset is stored", finds: "The rule “nothing is stored") { world in
        let store = Remembers(.ignoresReset)
        world.expect("nothing is stored from the time before a reset") { store.staleCount == 0 }
        return store --> Slots(1, nil) --> world.network
      },
      Bug("identical requests are those with the same path, whatever their method", finds: "Whole bodies") { world in
        world.expectBackgroundLoads()
        return Shares() --> world.network
      },
      Bug("loads in flight are stored by their request", finds: "Two executions") { world in
        OnePerRequest(ofStreams: false) --> world.network
      },
      Bug("a stream is shared", finds: "Never shared") { world in
        OnePerRequest(ofStreams: true) --> world.network
      },
      Bug("a response names the request of the caller after a redirect", finds: "Whole bodies") { world in
        Modified { request, load in
          load.map { HTTPResponse(to: request, status: $0.status, headers: $0.headers, content: $0.content) }
        } --> Redirect() --> world.network
      },
      Bug("responses are stored by their URL, whatever the user", finds: "Users are separated") { world in
        Stores(.sharesUsers) --> world.network
      },
      Bug("a stored response answers a request for events", finds: "Events from their server") { world in
        Stores(.answersEvents) --> world.network
      },
      Bug("a header field is normalized", finds: "Nothing rewritten") { world in
        Modified(before: { request in
          let note = request.headers["X-Note"] ?? ""
          try? request.setHeader("X-Note", note.replacing("\t", with: " "))
        }) { $1 } --> world.network
      },
    ]
  }

  @Test("Each bug is found, and the world is shrunk", arguments: Bug.all)
  func found(bug: Bug) throws {
    let failure = try #require(throws: SimulationFailure.self) {
      try Simulation.run(seeds: 0..<1_000, bug.scenario)
    }

    #expect(failure.problems.contains { $0.hasPrefix(bug.problem) }, "\(failure)")
    let parts = try #require(failure.only.parts)
    #expect(parts.count <= 16, "\(failure)")
    print(
      "found: \(bug.testDescription): seed \(failure.only.seed), \(parts.count) parts, \(failure.problems[0].prefix(70))"
    )
    // The printed case repeats the failure.
    #expect(throws: SimulationFailure.self) { try Simulation.run(seeds: 0..<1, only: failure.only, bug.scenario) }
  }

  @Test("The same layers without their bugs keep the rules")
  func withoutBugs() throws {
    try Simulation.run(seeds: 0..<UInt64(LongTest.count(150, small: 50))) { world in
      let store = Remembers(nil)
      world.expect("nothing is stored from the time before a reset") { store.staleCount == 0 }
      return ResetGuard() --> Autocancel(clock: world.clock) --> Repeats(clock: world.clock, nil) --> Slots(2, nil)
        --> Stores(nil) --> store --> world.network
    }
  }
}

// MARK: - Layers

private enum Mistake {
  case keepsSlotOfCancelledLoad, freesSlotAtHead, repeatsCancelledLoads, keepsPause, ignoresReset, sharesUsers
  case answersEvents
}

/// Limits the number of loads.
private final class Slots: HTTPLayer {
  private struct State {
    var free: Int
    var queue: [Promise<Void>] = []
  }

  private let state: Locked<State>
  private let mistake: Mistake?

  init(_ count: Int, _ mistake: Mistake?) {
    state = Locked(State(free: count))
    self.mistake = mistake
  }

  func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    let turn = Promise<Void>()
    turn.onRequestCancel { [self] _ in
      state.withLock { $0.queue.removeAll { $0.future == turn.future } }
      return .complete(.cancelled)
    }
    let begins = state.withLock { state in
      guard state.free > 0 else {
        state.queue.append(turn)
        return false
      }
      state.free -= 1
      return true
    }
    if begins { turn.succeed(()) }
    return turn.future.flatMap { [self] in
      let load = next.load(request)
      if mistake == .freesSlotAtHead {
        load.observe { _ in self.free() }
      } else {
        load.observe { outcome in
          if case .cancelled = outcome, self.mistake == .keepsSlotOfCancelledLoad { return }
          guard case .success(let response) = outcome else { return self.free() }
          response.transfer.observe { _ in self.free() }
        }
      }
      return load
    }.map { $0 }  // A caller that detaches does not detach from the turn.
  }

  private func free() {
    let next = state.withLock { state -> Promise<Void>? in
      guard state.queue.isEmpty else { return state.queue.removeFirst() }
      state.free += 1
      return nil
    }
    next?.succeed(())
  }
}

/// Repeats a failed load once, after a pause.
private final class Repeats: HTTPLayer {
  private let clock: ManualClock
  private let mistake: Mistake?

  init(clock: ManualClock, _ mistake: Mistake?) {
    self.clock = clock
    self.mistake = mistake
  }

  func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    if mistake == .repeatsCancelledLoads {
      return next.load(request).onComplete { outcome in
        if case .success(let response) = outcome { return .success(response) }
        return .completeUsing(next.load(request))
      }
    }
    return next.load(request).recoverWith { [self] _ in
      guard mistake == .keepsPause else {
        return Future.after(.seconds(3), clock: clock).flatMap { next.load(request) }
      }
      let pause = Promise<Void>()
      _ = clock.schedule(after: .seconds(3)) { pause.succeed(()) }
      pause.onRequestCancel { _ in .complete(.cancelled) }
      return pause.future.flatMap { next.load(request) }
    }
  }
}

private struct Modified: HTTPLayer {
  var before: @Sendable (inout HTTPRequest) -> Void = { _ in }
  let change: @Sendable (HTTPRequest, Future<HTTPResponse>) -> Future<HTTPResponse>

  func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    var request = request
    before(&request)
    return change(request, next.load(request))
  }
}

/// Does not forward its reset.
private struct Forgets: HTTPLoader {
  let loader: any HTTPLoader

  func load(_ request: HTTPRequest) -> Future<HTTPResponse> { loader.load(request) }

  func reset() -> Future<Void> { .succeeded }
}

/// Adds one credential to every request.
private struct Authorizing: HTTPLayer {
  let credential: String

  init(_ credential: String) { self.credential = credential }

  func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    var request = request
    do { try request.setHeader("Authorization", "Bearer \(credential)") } catch { return .failed(error) }
    return next.load(request)
  }
}

/// Remembers the last response.
private final class Remembers: HTTPLayer {
  private let state = Locked((generation: 0, stale: 0))
  private let mistake: Mistake?

  init(_ mistake: Mistake?) { self.mistake = mistake }

  var staleCount: Int { state.value.stale }

  func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    let generation = state.value.generation
    let load = next.load(request)
    load.observe { [self] outcome in
      guard case .success = outcome else { return }
      state.withLock { state in
        guard state.generation == generation || mistake == .ignoresReset else { return }
        if state.generation != generation { state.stale += 1 }
      }
    }
    return load
  }

  func wipe(_ notes: ResetNotes) -> Future<Void> {
    state.withLock { $0.generation += 1 }
    return .succeeded
  }
}

/// Answers requests with stored responses to the same URL, fields and user.
private final class Stores: HTTPLayer {
  private let responses = Locked<[String: HTTPResponse]>([:])
  private let mistake: Mistake?

  init(_ mistake: Mistake?) { self.mistake = mistake }

  func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    let isUsed = request.caching != .off || mistake == .answersEvents
    guard request.method == .get, isUsed else { return next.load(request) }
    let users = mistake == .sharesUsers ? [] : request.headers.map(\.value).filter { $0.contains("secret") }
    let key = ([request.url?.absoluteString, request.headers["Accept-Language"] ?? ""].compactMap(\.self) + users)
      .joined()
    if let stored = responses.withLock({ $0[key] }) {
      return .succeeded(
        HTTPResponse(to: request, status: stored.status, headers: stored.headers, content: stored.content))
    }
    let load = next.load(request)
    load.observe { [self] outcome in
      guard case .success(let response) = outcome, case .data = response.content, response.status == .ok else { return }
      responses.withLock { $0[key] = response }
    }
    return load
  }

  func wipe(_ notes: ResetNotes) -> Future<Void> {
    responses.withLock { $0 = [:] }
    return .succeeded
  }
}

/// Shares the loads of one path.
private final class Shares: HTTPLayer {
  private let flights = SingleFlight<String, HTTPResponse>()

  func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    flights.load(request.url?.path.description ?? "") { next.load(request) }
      .map { HTTPResponse(to: request, status: $0.status, headers: $0.headers, body: (try? $0.body) ?? Data()) }
  }
}

/// Stores loads in flight by their requests.
private final class OnePerRequest: HTTPLayer {
  private let loads = Locked<[String: Future<HTTPResponse>]>([:])
  private let ofStreams: Bool

  init(ofStreams: Bool) { self.ofStreams = ofStreams }

  func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    let key = "\(request)"
    guard request.delivery.isStream == ofStreams else { return next.load(request) }
    if let load = loads.withLock({ $0[key] }) { return load.map { $0 } }
    let load = next.load(request)
    loads.withLock { $0[key] = load }
    load.observe { [self] _ in _ = loads.withLock { $0.removeValue(forKey: key) } }
    return load.map { $0 }
  }
}
