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
/// print(api)  // Stamp --> Log --> SystemLoader
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
  LayerList(first, second)
}

/// Returns a layer that consists of an optional layer and the layer after it. If the first layer is `nil`, returns the
/// second.
public func --> (first: (some HTTPLayer)?, second: any HTTPLayer) -> any HTTPLayer {
  guard let first else { return second }
  return LayerList(first, second)
}

/// Returns the chain of a layer, or of each layer of a list, and a loader.
func chain(_ layer: any HTTPLayer, before next: any HTTPLoader) -> any HTTPLoader {
  (layer as? LayerList)?.chain(before: next) ?? HTTPChain(layer, before: next)
}

/// A chain is a list: a layer, and the rest of the list, which is the `next` of that layer. The last rest is the end, a loader
/// that is no chain. The list is immutable, and chains can share a rest.
final class HTTPChain: HTTPLoader {
  let layer: any HTTPLayer
  let next: any HTTPLoader
  /// The place of the layer in a list of layers. Such chains are created for each load, and compared by their places.
  let place: (list: LayerList, index: Int)?

  init(_ layer: any HTTPLayer, before next: any HTTPLoader, at place: (list: LayerList, index: Int)? = nil) {
    self.layer = layer
    self.next = identity(of: next) == nil ? LoaderBox(next) : next
    self.place = place
  }

  func load(_ request: HTTPRequest) -> Future<HTTPResponse> {
    guard CancelScope.hasDeadlines, let deadline = CancelScope.currentDeadline else { return begin(request) }
    return CancelScope.outside { begin(request.limited(by: deadline)) }
  }

  private func begin(_ request: HTTPRequest) -> Future<HTTPResponse> {
    guard request.sets(ResponseDelivery.self) else { return layer.load(request, next: next) }
    var request = request
    let file = PendingFile.replaceFile(of: &request)
    let response = layer.load(request, next: next)
    return file.map(response.committing) ?? response
  }

  func reset() -> Future<Void> {
    resetWithReceipt().map { receipt in if let error = receipt.error { throw error } }
  }
}

extension HTTPChain: CustomStringConvertible {
  /// The types of the layers and of the end.
  var description: String {
    let rest = next as? HTTPChain
    return "\(layer.typeName) --> \(rest.map { "\($0)" } ?? next.typeName)"
  }
}

/// A loader that is a value, as an object. Its identity is that of its place in a chain.
private final class LoaderBox: HTTPLoader {
  let loader: any HTTPLoader

  init(_ loader: any HTTPLoader) { self.loader = loader }

  var parts: [any HTTPPart] { loader.parts }

  func load(_ request: HTTPRequest) -> Future<HTTPResponse> { loader.load(request) }

  func reset() -> Future<Void> { loader.reset() }

  func refuse(_ notes: ResetNotes) -> Future<Void> { loader.refuse(notes) }

  func drain(_ notes: ResetNotes) -> Future<Void> { loader.drain(notes) }

  func wipe(_ notes: ResetNotes) -> Future<Void> { loader.wipe(notes) }

  func admit(_ notes: ResetNotes) { loader.admit(notes) }
}

/// Layers without an end, which can be put before several loaders.
final class LayerList: HTTPLayer {
  let layers: [any HTTPLayer]

  init(_ layers: any HTTPLayer...) {
    self.layers = layers.flatMap { ($0 as? LayerList)?.layers ?? [$0] }
  }

  func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    chain(before: next).load(request)
  }

  func chain(before next: any HTTPLoader) -> any HTTPLoader {
    layers.indices.reversed().reduce(next) { HTTPChain(layers[$1], before: $0, at: (self, $1)) }
  }
}

/// Returns the identity of a loader or a layer, or `nil` if it is a value type.
func identity<Object>(of object: Object) -> ObjectIdentifier? {
  type(of: object as Any) is any AnyObject.Type ? ObjectIdentifier(object as AnyObject) : nil
}

extension HTTPPart {
  /// The type of the part, for texts.
  var typeName: String {
    let part: any HTTPPart = (self as? LoaderBox)?.loader ?? self
    return "\(type(of: part))"
  }
}
