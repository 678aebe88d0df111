import Works

extension Row {
  /// Makes a promise and a chain of links, observes the tail, completes the promise, and releases all of it. The bodies add 1
  /// or, if they capture, a number that differs from link to link. A `flatMap` body returns a future that has succeeded
  /// (OpenCombine: a `Just`). The chains of OpenCombine are shorter: it recurses from link to link, and 1,000 links overflow a
  /// stack of 8 MiB.
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
