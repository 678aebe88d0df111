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
  LayeredLoader(layer: layer, next: next)
}

/// A loader with a layer before it, if there is one.
///
/// ```swift
/// let api = (isVerbose ? Log() : nil) --> URLSessionLoader()
/// ```
public func --> (layer: (some HTTPLayer)?, next: any HTTPLoader) -> any HTTPLoader {
  guard let layer else { return next }
  return LayeredLoader(layer: layer, next: next)
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

private struct LayeredLoader: HTTPLoader {
  let layer: any HTTPLayer
  let next: any HTTPLoader

  func load(_ request: HTTPRequest) -> Future<HTTPResponse> { layer.load(request, next: next) }

  func reset() -> Future<Void> { layer.reset(next: next) }
}

private struct LayeredLayer: HTTPLayer {
  let first: any HTTPLayer
  let second: any HTTPLayer

  func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    first.load(request, next: LayeredLoader(layer: second, next: next))
  }

  func reset(next: any HTTPLoader) -> Future<Void> {
    first.reset(next: LayeredLoader(layer: second, next: next))
  }
}
