import Works

extension Row {
  /// Makes a promise, observes its future with a closure that consumes the value, completes the promise and releases it. In the
  /// escaping rows, the promise passes through code that the optimizer does not see. The peer passes its future, because it has
  /// no promise object.
  static let promises = [
    Row("promise, observe, complete", against: PeerName.nio, ours: OurWorks.promise, theirs: NIOWorks.promise),
    Row(
      "promise, observe, complete", against: PeerName.openCombine, ours: OurWorks.promise,
      theirs: OpenCombineWorks.promise),
    Row(
      "promise that escapes, observe, complete", against: PeerName.nio, ours: OurWorks.escapingPromise,
      theirs: NIOWorks.escapingPromise),
  ]
}
