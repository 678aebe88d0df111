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

/// Layers that were put together are taken apart, so that every link of a chain is made once and can be told from others.
func chain(_ layer: any HTTPLayer, before next: any HTTPLoader) -> any HTTPLoader {
  guard let layers = layer as? LayeredLayer else { return LayeredLoader(layer, before: next) }
  return chain(layers.first, before: chain(layers.second, before: next))
}

/// One link of a chain. What it gives its layer as `next` is an object, so that resets of the same can be told from others.
final class LayeredLoader: HTTPLoader {
  let layer: any HTTPLayer
  let next: any HTTPLoader

  init(_ layer: any HTTPLayer, before next: any HTTPLoader) {
    self.layer = layer
    self.next = identified(next)
  }

  func load(_ request: HTTPRequest) -> Future<HTTPResponse> { layer.load(request, next: next) }

  func reset() -> Future<Void> { layer.reset(next: next) }
}

/// The same loader, which can be told from others.
func identified(_ loader: any HTTPLoader) -> any HTTPLoader {
  identity(of: loader) == nil ? LoaderObject(loader) : loader
}

/// What tells a loader from others; nil for one that is a value.
func identity(of loader: any HTTPLoader) -> ObjectIdentifier? {
  type(of: loader) is any AnyObject.Type ? ObjectIdentifier(loader as AnyObject) : nil
}

/// A loader that is a value, with an identity.
private final class LoaderObject: HTTPLoader {
  private let loader: any HTTPLoader

  init(_ loader: any HTTPLoader) { self.loader = loader }

  func load(_ request: HTTPRequest) -> Future<HTTPResponse> { loader.load(request) }

  func reset() -> Future<Void> { loader.reset() }
}

private struct LayeredLayer: HTTPLayer {
  let first: any HTTPLayer
  let second: any HTTPLayer

  func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    chain(self, before: next).load(request)
  }

  func reset(next: any HTTPLoader) -> Future<Void> {
    chain(self, before: next).reset()
  }
}
