import Works

extension Row {
  /// A promise and links are made, each on the future of the one before; the tail is observed, the promise completed, and
  /// all of it let go. The bodies add 1 or, where they capture, a number that changes from link to link. A `flatMap` body
  /// returns a future that has succeeded (OpenCombine: a `Just`). OpenCombine calls itself from link to link, and a chain of
  /// 1,000 overflows a stack of 8 MiB: its chains are shorter.
  static let chains = [
    Row("chain of 10 `map`", against: PeerName.nio, ours: OurWorks.chain(of: 10), theirs: NIOWorks.chain(of: 10)),
    Row(
      "chain of 10 `map`", against: PeerName.openCombine, ours: OurWorks.chain(of: 10),
      theirs: OpenCombineWorks.chain(of: 10)),
    Row(
      "chain of 100 `map`", against: PeerName.openCombine, ours: OurWorks.chain(of: 100),
      theirs: OpenCombineWorks.chain(of: 100)),
    Row(
      "chain of 1,000 `map`", against: PeerName.nio, ours: OurWorks.chain(of: 1000), theirs: NIOWorks.chain(of: 1000)),
    Row(
      "chain of 1,000 `map` that capture", against: PeerName.nio, ours: OurWorks.capturingChain,
      theirs: NIOWorks.capturingChain),
    Row("chain of 1,000 `flatMap`", against: PeerName.nio, ours: OurWorks.flatMap(of: 1000), theirs: NIOWorks.flatMap),
    Row(
      "chain of 100 `flatMap`", against: PeerName.openCombine, ours: OurWorks.flatMap(of: 100),
      theirs: OpenCombineWorks.flatMap(of: 100)),
  ]
}
