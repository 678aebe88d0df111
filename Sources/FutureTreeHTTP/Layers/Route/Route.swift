import FutureTree

/// Lets each request go its own way: through the first branch whose predicate says yes, or straight on.
///
/// ```swift
/// let api = Route(
///   .when({ $0.path.hasPrefix("/account/") }, BasicAuth(credentials)),
///   .when({ $0.url?.host == "static.example.com" }, staticFiles)
/// ) --> URLSessionLoader()
/// ```
///
/// A branch is a layer, which goes on to what comes behind the route, or a loader, which is an end of its own.
///
/// **Cancellation.** It holds nothing back.
///
/// **Reset.** Every branch is reset, also those that no request ever took. A loader to which several of them lead, such as the
/// one behind the route, is reset once, when all of them have got there: until then, loads of another branch may still be
/// on their way to it. If a part fails, the others are reset all the same.
///
/// This also holds for a chain that a loader of your own wraps, if its `reset()` resets the chain before it returns. A loader that
/// is not made with `-->` is reset by each loader of your own that calls it. A `reset()` of your own must not block its thread until
/// another reset has ended: that begins when yours has returned.
public struct Route: HTTPLayer {
  /// One way that a request can go.
  public struct Branch: Sendable {
    fileprivate let takes: @Sendable (HTTPRequest) -> Bool
    fileprivate let way: Way

    /// A layer, for the requests that `predicate` takes. Layers that were put together are one.
    public static func when(
      _ predicate: @escaping @Sendable (HTTPRequest) -> Bool, _ layer: any HTTPLayer
    ) -> Branch {
      Branch(takes: predicate, way: .through(layer))
    }

    /// A loader, for the requests that `predicate` takes: they do not go on behind the route.
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

  /// Gives a branch's loader a place in the order of loaders.
  private struct Entrance: HTTPLayer {
    func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> { next.load(request) }
  }

  private let branches: [Branch]

  /// Asks the branches in this order.
  public init(_ branches: Branch...) {
    self.branches = branches
  }

  /// Gives the request to the first branch that takes it, or else to `next`.
  public func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    switch branches.first(where: { $0.takes(request) })?.way {
    case .through(let layer): layer.load(request, next: next)
    case .to(let loader): loader.load(request)
    case nil: next.load(request)
    }
  }

  /// Resets every branch, and what they share once.
  public func reset(next: any HTTPLoader) -> Future<Void> {
    let next = identified(next)
    return ResetRun.reset(branches.map { $0.way.loader(before: next) } + [next])
  }
}

extension Route: Branching {}
