import Foundation

/// The key by which requests are compared for sharing. Pure.
///
/// # Invariants
/// 1. Requests with equal keys have the same response: everything that a loader can see of them is equal, except
///    `ownOptions`.
/// 2. A request that cannot be compared has no key.
final class CoalesceKey: Hashable, @unchecked Sendable {  // Because: the values of `options` are sendable.
  private enum Body: Equatable {
    case none
    case data(Data, type: String?)
    case file(URL, type: String?)
    /// A stream. The key of the caller represents its bytes.
    case stream(type: String?)
  }

  /// The loader of the request. It is retained, so that its identity stays unique.
  private struct Asked: Equatable {
    private let loader: any HTTPLoader
    let id: ObjectIdentifier
    /// The lists of layers before that loader, each as its identity and an index.
    private var places: [(list: ObjectIdentifier, index: Int)] = []

    /// Returns `nil` for a loader without an identity. A chain that is created for one load is identified by its layers.
    init?(_ loader: any HTTPLoader) {
      self.loader = loader
      var loader = loader
      while let chain = loader as? HTTPChain, let place = chain.place {
        places.append((ObjectIdentifier(place.list), place.index))
        loader = chain.next
      }
      guard let id = identity(of: loader) else { return nil }
      self.id = id
    }

    static func == (first: Asked, second: Asked) -> Bool {
      first.id == second.id && first.places.elementsEqual(second.places, by: ==)
    }
  }

  private struct Compared: Equatable {
    let method: HTTPMethod
    let target: HTTPRequest.Target
    let headers: HTTPHeaders
    let body: Body
    let maximumSize: Int?
    let options: [ObjectIdentifier: AnyHashable]
    let rule: RequestCoalescing.Rule
    let asked: Asked
    let generation: Int
  }

  /// The callers of the flight that began with this key. Not compared.
  let callers: FlightCallers
  /// The callers whose highest priority the flight has: those of an earlier layer, if the first request is part of its shared load.
  var priorityCallers: FlightCallers { outer ?? callers }
  let outer: FlightCallers?
  /// The priority of the request when it arrived.
  let priority: RequestPriority
  private let compared: Compared
  /// The hash of the parts in which most requests differ. It is stored, because a load looks up its key several times.
  private let hash: Int

  /// Creates the key. Returns `nil` if the request is not shared.
  ///
  /// - Parameter ignored: The options that are not compared, including `ownOptions`.
  init?(_ request: HTTPRequest, before next: any HTTPLoader, ignoring ignored: Set<ObjectIdentifier>, generation: Int) {
    let rule = request.coalescing.rule
    let delivery = request.delivery
    outer = request.sharedCallers
    priority = request.currentPriority
    callers = FlightCallers(first: priority)
    guard CoalesceKey.allows(rule, request), delivery.isInMemory, let asked = Asked(next),
      let options = request.comparableOptions(without: ignored)
    else { return nil }
    compared = Compared(
      method: request.method, target: request.target.canonical, headers: request.headers,
      body: CoalesceKey.body(of: request), maximumSize: delivery.maximumSize, options: options, rule: rule,
      asked: asked, generation: generation)
    var hasher = Hasher()
    hasher.combine(compared.target)
    hasher.combine(asked.id)
    hash = hasher.finalize()
  }

  /// The method and the URL of the request, without its query.
  var request: String { "\(compared.method) \(compared.target)" }

  static func == (first: CoalesceKey, second: CoalesceKey) -> Bool {
    first === second || first.hash == second.hash && first.compared == second.compared
  }

  func hash(into hasher: inout Hasher) { hasher.combine(hash) }

  /// The options that belong to each caller, or are compared in another way.
  static let ownOptions: Set<ObjectIdentifier> = [
    ObjectIdentifier(ProgressHandler.self), ObjectIdentifier(RequestDeadline.self),
    ObjectIdentifier(RequestPriority.self), ObjectIdentifier(RequestAttempt.self),
    ObjectIdentifier(ResponseDelivery.self), ObjectIdentifier(RequestCoalescing.self),
  ]

  private static func allows(_ rule: RequestCoalescing.Rule, _ request: HTTPRequest) -> Bool {
    switch rule {
    case .automatic: request.method.isSafe && request.body.isEmpty
    case .never: false
    case .key: true
    }
  }

  private static func body(of request: HTTPRequest) -> Body {
    let type = request.body.contentType
    return switch request.body.content {
    case .empty: .none
    case .data(let data): .data(data, type: type)
    case .file(let url): .file(url, type: type)
    case .stream: .stream(type: type)
    }
  }
}

extension HTTPRequest.Target {
  /// The target without an explicit default port.
  var canonical: HTTPRequest.Target {
    guard case .url(let url) = self, url.explicitPort == url.scheme.defaultPort else { return self }
    return .url(HTTPURL(scheme: url.scheme, host: url.host, explicitPort: nil, path: url.path, query: url.query))
  }
}
