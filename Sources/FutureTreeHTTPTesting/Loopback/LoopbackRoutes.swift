/// When a loopback server begins to answer a request.
public enum LoopbackMoment: Sendable, Hashable {
  /// When its head is there, whatever its body does. A body goes on arriving while the answer runs.
  case headComplete
  /// When its body is there too.
  case requestComplete
}

/// Chooses answers for requests. Called on the server's queue, under no lock.
typealias LoopbackHandler = @Sendable (LoopbackRequest) -> LoopbackAnswer

/// What a loopback server answers to which request, as a value.
struct LoopbackRoutes {
  struct Key: Hashable {
    let method: String?
    let path: String
  }

  enum Script {
    /// In turn; the last repeats.
    case answers([LoopbackAnswer], served: Int)
    case handler(LoopbackHandler)

    /// What is to be done for the next request.
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
    /// Call this unlocked.
    case ask(LoopbackHandler)
    /// Not before the request is complete.
    case later
  }

  private struct Route {
    let moment: LoopbackMoment
    var script: Script
  }

  private var routes: [Key: Route] = [:]
  private var fallback = Script.answers([.status(404)], served: 0)
  private var greeting: Script?

  /// - Returns: What was there before, to be released unlocked.
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

  /// Chooses for a request: the target goes before the path, and a method that is named before any method.
  mutating func choose(method: String, target: String, path: String, at moment: LoopbackMoment) -> Choice {
    let keys = [target, path].flatMap { [Key(method: method, path: $0), Key(method: nil, path: $0)] }
    guard let key = keys.first(where: { routes[$0] != nil }), let route = routes[key] else {
      return moment == .headComplete ? .later : fallback.next()
    }
    guard moment == .requestComplete || route.moment == .headComplete else { return .later }
    return routes[key]?.script.next() ?? .later
  }

  /// What is done about a new connection; nil: nothing.
  mutating func greet() -> LoopbackAnswer? {
    guard case .answer(let answer)? = greeting?.next() else { return nil }
    return answer
  }

  /// - Returns: What was there, to be released unlocked.
  mutating func removeAll() -> LoopbackRoutes {
    defer { self = LoopbackRoutes() }
    return self
  }
}
