/// A name that is allocated once and shared by any number of futures.
///
/// `named(_:)` with a string allocates a `Node.Details` for each future. A `FutureName` already has that object, so naming the
/// futures of a layer needs no allocation. A future with its own details, such as an executor, gets a copy.
package struct FutureName: Sendable {
  let text: String
  /// Immutable and without a log: each future of a log has its own details.
  let details: Node.Details

  /// - Parameters:
  ///   - text: The name. Snapshots of the tree show it.
  ///   - activity: What the future is doing, if it is a source without an outcome.
  ///   - fileID: The file that snapshots show for a future that has none.
  ///   - line: The line in that file.
  package init(
    _ text: StaticString, activity: StaticString? = nil, fileID: StaticString = #fileID, line: UInt = #line
  ) {
    self.text = text.description
    details = Node.Details(
      name: self.text, place: CodeLocation(fileID: fileID.description, line: line),
      activity: activity.map { .fixed(ActivityText($0.description)) })
  }
}

extension Node {
  final func setName(_ name: FutureName) {
    let isNamed = lock.withLock {
      guard details == nil else { return false }
      details = name.details
      return true
    }
    if !isNamed, let place = name.details.place { setName(name.text, at: place, activity: name.details.activity) }
  }
}

extension Node {
  /// The name that `named(_:)` set, or the operator that created this future. Called under the lock.
  final var label: String { details?.name ?? state.createdBy.name }
}
