import FutureTree

precedencegroup HTTPChainPrecedence {
  associativity: right
  higherThan: NilCoalescingPrecedence
}

/// Puts a layer before a loader, or before another layer.
infix operator --> : HTTPChainPrecedence

/// A loader with a layer before it: a loader.
///
/// ```swift
/// let api = Stamp() --> Log() --> URLSessionLoader()
/// ```
public func --> (layer: some HTTPLayer, next: any HTTPLoader) -> any HTTPLoader {
  chain(layer, before: next)
}

/// A loader with a layer before it, if there is one.
///
/// ```swift
/// let api = (isVerbose ? Log() : nil) --> URLSessionLoader()
/// ```
public func --> (layer: (some HTTPLayer)?, next: any HTTPLoader) -> any HTTPLoader {
  guard let layer else { return next }
  return chain(layer, before: next)
}

/// A layer with a layer before it: a layer, to stand before several loaders.
public func --> (first: some HTTPLayer, second: any HTTPLayer) -> any HTTPLayer {
  LayeredLayer(first: first, second: second)
}

/// A layer with a layer before it, if there is one.
public func --> (first: (some HTTPLayer)?, second: any HTTPLayer) -> any HTTPLayer {
  guard let first else { return second }
  return LayeredLayer(first: first, second: second)
}

/// Splits composed layers, so that every layer has one link with an identity of its own.
///
/// - Parameter isPlaced: See `LayeredLoader`.
func chain(
  _ layer: any HTTPLayer, before next: any HTTPLoader, in group: LayeredLayer? = nil, isPlaced: Bool = true
) -> any HTTPLoader {
  guard let layers = layer as? LayeredLayer else {
    return LayeredLoader(layer, before: next, in: group, isPlaced: isPlaced)
  }
  let second = chain(layers.second, before: next, in: layers, isPlaced: isPlaced)
  return chain(layers.first, before: second, in: group, isPlaced: isPlaced)
}

/// One link of a chain. What it gives its layer as `next` is an object, so that resets of the same can be told from others.
final class LayeredLoader: HTTPLoader {
  let layer: any HTTPLayer
  let next: any HTTPLoader
  /// The composed layers whose second part begins with this link. A branch of a route makes such links for each load.
  let group: LayeredLayer?
  /// Whether the link has a place in `ChainOrder`. A link that is made for a load has none, because only resets need it.
  private let isPlaced: Bool

  init(_ layer: any HTTPLayer, before next: any HTTPLoader, in group: LayeredLayer? = nil, isPlaced: Bool = true) {
    self.layer = layer
    self.group = group
    self.isPlaced = isPlaced
    self.next = identified(next)
    guard isPlaced else { return }
    let (id, nextID) = (ObjectIdentifier(self), ObjectIdentifier(self.next as AnyObject))
    ChainOrder.current.withLock { order in
      order.insert(nextID)
      order.insert(id, leadingTo: layer is any Branching ? nil : nextID)
    }
  }

  deinit {
    guard isPlaced else { return }
    let (id, nextID) = (ObjectIdentifier(self), ObjectIdentifier(next as AnyObject))
    ChainOrder.current.withLock { order in
      order.remove(id)
      order.remove(nextID)
    }
  }

  func load(_ request: HTTPRequest) -> Future<HTTPResponse> { layer.load(request, next: next) }

  func reset() -> Future<Void> { ResetRun.reset(self) ?? layer.reset(next: next) }
}

/// A layer that leads to other loaders than its `next`.
protocol Branching {}

/// Returns the loader, or an object that wraps it if it is a value.
func identified(_ loader: any HTTPLoader) -> any HTTPLoader {
  identity(of: loader) == nil ? LoaderObject(loader) { loader.reset() } : loader
}

/// Returns the identity of a loader or a layer, or nil if it is a value.
func identity<Object>(of object: Object) -> ObjectIdentifier? {
  type(of: object as Any) is any AnyObject.Type ? ObjectIdentifier(object as AnyObject) : nil
}

/// A loader with an identity of its own.
final class LoaderObject: HTTPLoader {
  private let loader: any HTTPLoader
  private let resetLoader: @Sendable () -> Future<Void>

  init(_ loader: any HTTPLoader, reset: @escaping @Sendable () -> Future<Void>) {
    self.loader = loader
    resetLoader = reset
  }

  func load(_ request: HTTPRequest) -> Future<HTTPResponse> { loader.load(request) }

  func reset() -> Future<Void> { resetLoader() }
}

/// Composed layers that can be put before several loaders.
final class LayeredLayer: HTTPLayer {
  let first: any HTTPLayer
  let second: any HTTPLayer

  init(first: any HTTPLayer, second: any HTTPLayer) {
    self.first = first
    self.second = second
  }

  func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    chain(self, before: next, isPlaced: false).load(request)
  }

  func reset(next: any HTTPLoader) -> Future<Void> {
    chain(self, before: next).reset()
  }
}
