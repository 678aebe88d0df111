import Works

extension Row {
  /// Makes a promise and 1,000 `map` of its future, completes the promise, and releases all of it. Each body consumes the
  /// value.
  static let children = [
    Row(
      "1 future with 1,000 `map` children", against: PeerName.nio, ours: OurWorks.children, theirs: NIOWorks.children),
    Row(
      "1 future with 1,000 `map` children", against: PeerName.openCombine, ours: OurWorks.children,
      theirs: OpenCombineWorks.children),
  ]
}
