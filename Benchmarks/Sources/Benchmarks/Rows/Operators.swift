import Works

extension Row {
  /// Chains of 1,000 links of one operator, against such a chain of `map`. Names that end in `-failing` or `-cancelled` say how the
  /// promise is completed; where they have no such ending, it succeeds. Joins have 1,000 inputs, promises included (`zip`: two),
  /// and stand against an `all` of 1,000.
  static let operators = OurWorks.operators.map { name, work in
    let isLink = work.unit == "link"
    return Row(
      isLink ? "chain of 1,000 `\(name)`" : "`\(name)`", against: isLink ? "`map`" : "`all` of 1,000", .timesTheCost,
      ours: work, theirs: isLink ? OurWorks.chain(of: 1000) : OurWorks.all1000)
  }
}
