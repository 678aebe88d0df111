import Works

extension Row {
  /// A promise is made, its future observed by a closure that takes the value, the promise completed and let go. Where it
  /// escapes, the promise (theirs: its future, they have no object for the promise) goes through code that the optimiser
  /// does not see.
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
