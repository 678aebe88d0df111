import FutureTree

precedencegroup HTTPChainPrecedence {
  associativity: right
  higherThan: NilCoalescingPrecedence
}

/// Puts a layer before a loader or before another layer.
infix operator --> : HTTPChainPrecedence

/// Returns a loader that consists of a layer and the loader after it.
///
/// ```swift
/// let api = Stamp() --> Log() --> SystemLoader()
/// ```
public func --> (layer: some HTTPLayer, next: any HTTPLoader) -> any HTTPLoader {
  chain(layer, before: next)
}

/// Returns a loader that consists of an optional layer and the loader after it. If the layer is `nil`, returns the
/// loader.
///
/// ```swift
/// let api = (isVerbose ? Log() : nil) --> SystemLoader()
/// ```
public func --> (layer: (some HTTPLayer)?, next: any HTTPLoader) -> any HTTPLoader {
  guard let layer else { return next }
  return chain(layer, before: next)
}

/// Returns a layer that consists of two layers. It can be put before several loaders.
public func --> (first: some HTTPLayer, second: any HTTPLayer) -> any HTTPLayer {
  LayeredLayer(first: first, second: second)
}

/// Returns a layer that consists of an optional layer and the layer after it. If the first layer is `nil`, returns the
/// second.
public func --> (first: (some HTTPLayer)?, second: any HTTPLayer) -> any HTTPLayer {
  guard let first else { return second }
  return LayeredLayer(first: first, second: second)
}

/// Builds a chain from a layer and a loader. Composed layers are split, so that each layer has a link with its own
/// identity.
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

/// One link of a chain. The `next` of its layer is an object, so that resets of the same loader can be recognized.
final class LayeredLoader: HTTPLoader {
  let layer: any HTTPLayer
  let next: any HTTPLoader
  /// The composed layers whose second part begins with this link. A branch of a route creates such links for each load.
  let group: LayeredLayer?
  /// Whether the link is in `ChainOrder`. A link that is created for a single load is not: only resets need the order.
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

  func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
    guard request.sets(ResponseDelivery.self) else { return layer.load(request, next: next) }
    var request = request
    let file = PendingFile.replaceFile(of: &request)
    let response = layer.load(request, next: next)
    return file.map(response.committing) ?? response
  }

  func reset() -> Future<Void> { ResetRun.reset(self) ?? resetLayer(next: next) }

  /// Resets the layer, with notes if the reset has a receipt.
  func resetLayer(next: any HTTPLoader) -> Future<Void> {
    ResetReport.current?.reset(layer, next: next) ?? layer.reset(next: next)
  }
}

/// A layer that leads to loaders other than its `next`.
protocol Branching {
  func loaders(before next: any HTTPLoader) -> [any HTTPLoader]
}

/// Returns the loader if it is an object, otherwise an object that wraps it.
func identified(_ loader: any HTTPLoader) -> any HTTPLoader {
  identity(of: loader) == nil
    ? LoaderObject(loader) { ResetReport.current?.reset(loader) ?? loader.reset() } : loader
}

/// Returns the identity of a loader or a layer, or `nil` if it is a value type.
func identity<Object>(of object: Object) -> ObjectIdentifier? {
  type(of: object as Any) is any AnyObject.Type ? ObjectIdentifier(object as AnyObject) : nil
}

/// A loader with its own identity.
final class LoaderObject: HTTPLoader {
  private let loader: any HTTPLoader
  private let representedIdentity: ObjectIdentifier?
  private let resetLoader: @Sendable () -> Future<Void>

  /// - Parameter identity: The identity of the loader that this object stands for.
  init(
    _ loader: any HTTPLoader, identity: ObjectIdentifier? = nil, reset: @escaping @Sendable () -> Future<Void>
  ) {
    self.loader = loader
    representedIdentity = identity
    resetLoader = reset
  }

  /// Returns the identity of a loader, also if an object stands for it during a reset.
  static func representedIdentity(of loader: any HTTPLoader) -> ObjectIdentifier? {
    (loader as? LoaderObject)?.representedIdentity ?? identity(of: loader)
  }

  func load(_ request: HTTPRequest) -> Future<HTTPResponse> { loader.load(request) }

  func reset() -> Future<Void> { resetLoader() }
}

/// Two composed layers, which can be put before several loaders.
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
