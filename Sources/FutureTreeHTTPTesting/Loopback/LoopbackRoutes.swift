/// The moment at which a loopback server begins to answer a request.
public enum LoopbackMoment: Sendable, Hashable {
  /// The head is complete. The body continues to arrive while the answer runs.
  case headComplete
  /// The body is complete as well.
  case requestComplete
}

/// Chooses answers for requests. Called on the server's queue, outside every lock.
typealias LoopbackHandler = @Sendable (LoopbackRequest) -> LoopbackAnswer

/// The routes of a loopback server, as a value: requests and their answers.
struct LoopbackRoutes {
  struct Key: Hashable {
    let method: String?
    let path: String
  }

  enum Script {
    /// Answers in turn. The last one repeats.
    case answers([LoopbackAnswer], served: Int)
    case handler(LoopbackHandler)

    /// Returns the choice for the next request.
    mutating func next() -> Choice {
      switch self {
      case .handler(let handler): return .ask(handler)
      case .answers(let answers, let served):
        self = .answers(answers, served: served + 1)
        return .answer(served < answers.count ? answers[served] : answers.last ?? .status(404))
      }
    }
  }

  enum Choice {
    case answer(LoopbackAnswer)
    /// Call this handler outside the lock.
    case ask(LoopbackHandler)
    /// Choose again when the request is complete.
    case later
  }

  private struct Route {
    let moment: LoopbackMoment
    var script: Script
  }

  private var routes: [Key: Route] = [:]
  private var fallback = Script.answers([.status(404)], served: 0)
  private var greeting: Script?

  /// - Returns: The replaced script, to be released outside the lock.
  mutating func set(_ script: Script, at moment: LoopbackMoment, for key: Key) -> Script? {
    routes.updateValue(Route(moment: moment, script: script), forKey: key)?.script
  }

  mutating func setFallback(_ script: Script) -> Script {
    defer { fallback = script }
    return fallback
  }

  mutating func setGreeting(_ script: Script?) {
    greeting = script
  }

  /// Chooses an answer. A named host takes precedence over any host, a target over a path, and a named method over any method.
  mutating func choose(
    method: String, target: String, path: String, host: String?, at moment: LoopbackMoment
  ) -> Choice {
    let ofHost = host.map { ["//\($0)\(target)", "//\($0)\(path)"] } ?? []
    let keys = (ofHost + [target, path]).flatMap { [Key(method: method, path: $0), Key(method: nil, path: $0)] }
    guard let key = keys.first(where: { routes[$0] != nil }), let route = routes[key] else {
      return moment == .headComplete ? .later : fallback.next()
    }
    guard moment == .requestComplete || route.moment == .headComplete else { return .later }
    return routes[key]?.script.next() ?? .later
  }

  /// Returns the answer for a new connection, if any.
  mutating func greet() -> LoopbackAnswer? {
    guard case .answer(let answer)? = greeting?.next() else { return nil }
    return answer
  }

  /// - Returns: The previous routes, to be released outside the lock.
  mutating func removeAll() -> LoopbackRoutes {
    defer { self = LoopbackRoutes() }
    return self
  }
}
