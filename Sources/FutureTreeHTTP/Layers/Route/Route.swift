import FutureTree

/// A layer that sends each request through the first branch whose predicate accepts it, or to the next loader.
///
/// ```swift
/// let api = Route(
///   .when({ $0.path.hasPrefix("/account/") }, BasicAuth(credentials)),
///   .when({ $0.url?.host == "static.example.com" }, staticFiles)
/// ) --> SystemLoader()
/// ```
///
/// A branch is a layer, which continues with the loader after the route, or a loader, which ends the chain.
///
/// **Cancellation.** The layer holds no requests.
///
/// **Reset.** Every branch is reset, including branches that have not received a request. A loader that several branches
/// share, such as the loader after the route, is reset once, after all of these branches have been drained.
public struct Route: HTTPLayer {
  /// One branch of a route.
  public struct Branch: Sendable {
    fileprivate let takes: @Sendable (HTTPRequest) -> Bool
    fileprivate let way: Way

    /// Returns a branch with a layer, for requests that `predicate` accepts. Composed layers are one layer.
    public static func when(
      _ predicate: @escaping @Sendable (HTTPRequest) -> Bool, _ layer: any HTTPLayer
    ) -> Branch {
      Branch(takes: predicate, way: .through(layer))
    }

    /// Returns a branch with a loader, for requests that `predicate` accepts. They do not reach the loader after the
    /// route.
    public static func when(
      _ predicate: @escaping @Sendable (HTTPRequest) -> Bool, _ loader: any HTTPLoader
    ) -> Branch {
      Branch(takes: predicate, way: .to(loader))
    }
  }

  fileprivate enum Way: Sendable {
    case through(any HTTPLayer)
    case to(any HTTPLoader)

    var part: any HTTPPart {
      switch self {
      case .through(let layer): layer
      case .to(let loader): loader
      }
    }
  }

  private let branches: [Branch]

  /// Creates a route. The branches are checked in the given order.
  public init(_ branches: Branch...) {
    self.branches = branches
  }

  /// Loads the request with the first branch that accepts it, or else with `next`.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    switch branches.first(where: { $0.takes(request) })?.way {
    case .through(let layer): layer.load(request, next: next)
    case .to(let loader): loader.load(request)
    case nil: next.load(request)
    }
  }

  /// The layers and loaders of the branches.
  public var parts: [any HTTPPart] { branches.map(\.way.part) }
}
