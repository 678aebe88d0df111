import FutureTree

/// A layer or a loader, as a reset sees it: the steps of a reset that it has, and the loaders behind it.
///
/// ```swift
/// struct Thumbnails: HTTPLayer {
///   let images: ImageStore
///
///   func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> { next.load(request) }
///
///   func wipe(_ notes: ResetNotes) -> Future<Void> {
///     notes.wiped("\(images.removeAll()) thumbnails")
///     return .succeeded
///   }
/// }
/// ```
///
/// Every step has a default that does nothing, except that a loader without `parts` is reset by `reset()` in the drain. No step
/// calls that of another part: the reset of the chain calls the steps of each part once, in the following order, even if some
/// of them fail. See <doc:Resetting>.
///
/// 1. `refuse` of all parts.
/// 2. `drain` from the outer end of the chain. Parts at the same distance from it, by the longest way, are drained together, when
///    all parts nearer to it have been drained.
/// 3. `wipe` of all parts, when all loads that the drain and the futures of `refuse` await have ended.
/// 4. `admit` of all parts, from the inner end.
///
/// An object is one part wherever it stands, and is drained at the innermost place. A value is a part at each place where it
/// stands.
public protocol HTTPPart: Sendable {
  /// Refuses loads from now on.
  ///
  /// - Returns: A future that completes when each load that was not refused has ended. The reset awaits it after the drain.
  func refuse(_ notes: ResetNotes) -> Future<Void>

  /// Cancels the loads that this part holds or tracks, and awaits their end.
  func drain(_ notes: ResetNotes) -> Future<Void>

  /// Removes the state of this part.
  func wipe(_ notes: ResetNotes) -> Future<Void>

  /// Admits loads again. Receives the notes that `refuse` received.
  func admit(_ notes: ResetNotes)

  /// The other parts to which a load can be passed, apart from the next loader of a layer. Defaults to none.
  ///
  /// A chain among them stands for its parts. A layer among them leads to the next loader. The same objects must be returned
  /// each time.
  var parts: [any HTTPPart] { get }
}

extension HTTPPart {
  public func refuse(_ notes: ResetNotes) -> Future<Void> { .succeeded }

  public func drain(_ notes: ResetNotes) -> Future<Void> { .succeeded }

  public func wipe(_ notes: ResetNotes) -> Future<Void> { .succeeded }

  public func admit(_ notes: ResetNotes) {}

  public var parts: [any HTTPPart] { [] }
}

extension HTTPLoader {
  /// Resets the loader as a whole, unless it names its parts.
  public func drain(_ notes: ResetNotes) -> Future<Void> { parts.isEmpty ? reset() : .succeeded }
}
