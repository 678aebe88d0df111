import Measuring
import Works

/// A row of the table: a work of FutureTree, and the same work of a peer.
struct Row: Sendable {
  let name: String
  let peer: String
  let reading: Reading
  let ours: Work
  let theirs: Work

  init(_ name: String, against peer: String, _ reading: Reading = .timesAsFast, ours: Work, theirs: Work) {
    self.name = name
    self.peer = peer
    self.reading = reading
    self.ours = ours
    self.theirs = theirs
  }

  /// All rows, in the order of the table.
  static let all =
    promises + chains + operators + children + joins + awaiting + cancelling + tokens + threads + memory + loading

  /// Returns whether the work or the peer contains the words. An empty text matches every row.
  func matches(_ words: String) -> Bool {
    words.isEmpty || "\(name) \(peer)".lowercased().contains(words.lowercased())
  }
}

/// The names of the peers in the table.
enum PeerName {
  static let nio = "`EventLoopFuture`"
  static let openCombine = "OpenCombine `Future`"
}
