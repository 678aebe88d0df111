import Foundation

/// What two requests have in common that share one load, as a value. Pure.
///
/// # Invariants
/// 1. Requests with equal keys are answered alike: nothing that a loader could see of them differs, but for `ownOptions`.
/// 2. A request that cannot be compared has no key.
struct CoalesceKey: Hashable, @unchecked Sendable {  // Because: the values of `options` are those of sendable options.
  private enum Body: Hashable {
    case none
    case data(Data, type: String?)
    case file(URL, type: String?)
    /// The caller's key stands for its bytes.
    case stream(type: String?)
  }

  /// The loader that is asked. Held, so that its identity stays its own.
  private struct Asked: Hashable {
    private let loader: any HTTPLoader
    private let ids: [ObjectIdentifier]

    /// `nil` for a loader without an identity. A link that is made for one load is identified by its layers.
    init?(_ loader: any HTTPLoader) {
      self.loader = loader
      var (ids, loader) = ([ObjectIdentifier](), loader)
      while let link = loader as? LayeredLoader, let group = link.group {
        ids.append(ObjectIdentifier(group))
        loader = link.next
      }
      guard let id = identity(of: loader) else { return nil }
      self.ids = ids + [id]
    }

    static func == (first: Asked, second: Asked) -> Bool { first.ids == second.ids }

    func hash(into hasher: inout Hasher) { hasher.combine(ids) }
  }

  private let method: HTTPMethod
  private let target: HTTPRequest.Target
  private let headers: HTTPHeaders
  private let body: Body
  private let maximumSize: Int?
  private let options: [ObjectIdentifier: AnyHashable]
  private let rule: RequestCoalescing.Rule
  private let asked: Asked
  private let generation: Int

  /// nil if the request is not to be shared.
  init?(_ request: HTTPRequest, before next: any HTTPLoader, ignoring ignored: Set<ObjectIdentifier>, generation: Int) {
    let rule = request[option: RequestCoalescing.self].rule
    let delivery = request[option: ResponseDelivery.self]
    guard let asked = Asked(next), CoalesceKey.allows(rule, request), delivery.file == nil,
      let options = request.comparableOptions(without: ignored.union(CoalesceKey.ownOptions))
    else { return nil }
    method = request.method
    target = request.target.canonical
    headers = request.headers
    body = CoalesceKey.body(of: request)
    maximumSize = delivery.maximumSize
    self.options = options
    self.rule = rule
    self.asked = asked
    self.generation = generation
  }

  /// What is each caller's own, or compared in another way.
  private static let ownOptions: Set<ObjectIdentifier> = [
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
  /// A port that is the scheme's own is the same as none.
  fileprivate var canonical: HTTPRequest.Target {
    guard case .url(let url) = self, url.explicitPort == url.scheme.defaultPort else { return self }
    return .url(HTTPURL(scheme: url.scheme, host: url.host, explicitPort: nil, path: url.path, query: url.query))
  }
}
