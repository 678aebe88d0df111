import Works

extension Row {
  /// A promise and 1,000 `map` of its one future are made, the promise completed, and all of it let go. Each body takes the
  /// value.
  static let children = [
    Row(
      "1 future with 1,000 `map` children", against: PeerName.nio, ours: OurWorks.children, theirs: NIOWorks.children),
    Row(
      "1 future with 1,000 `map` children", against: PeerName.openCombine, ours: OurWorks.children,
      theirs: OpenCombineWorks.children),
  ]
}
