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
/// share, such as the loader after the route, is reset once, after all of these branches have passed on the reset. Until
/// then, loads of another branch may still reach it. If one part fails, the others are still reset.
///
/// The same applies to a chain inside a loader of your own, if its `reset()` resets the chain before it returns. A
/// loader that is not built with `-->` is reset once for each of your own loaders that calls it. Your `reset()` must not
/// block its thread until another reset has ended, because that reset begins only after your method has returned.
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
      Branch(takes: predicate, way: .to(LayeredLoader(Entrance(), before: loader)))
    }
  }

  fileprivate enum Way: Sendable {
    case through(any HTTPLayer)
    case to(LayeredLoader)

    func loader(before next: any HTTPLoader) -> any HTTPLoader {
      switch self {
      case .through(let layer): chain(layer, before: next)
      case .to(let loader): loader
      }
    }
  }

  /// A layer that gives the loader of a branch a position in the order of loaders.
  private struct Entrance: HTTPLayer {
    func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> { next.load(request) }
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

  /// Resets every branch. Shared loaders are reset once.
  public func reset(next: any HTTPLoader) -> Future<Void> {
    let next = identified(next)
    return ResetRun.reset(loaders(before: next) + [next])
  }
}

extension Route: Branching {
  func loaders(before next: any HTTPLoader) -> [any HTTPLoader] { branches.map { $0.way.loader(before: next) } }
}
