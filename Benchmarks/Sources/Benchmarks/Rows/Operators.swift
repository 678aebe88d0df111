import Works

extension Row {
  /// Compares chains of 1,000 links of one operator with a chain of 1,000 `map`. A name that ends in `-failing` or `-cancelled`
  /// says how the promise is completed. Without such an ending, the promise succeeds. Joins have 1,000 inputs (`zip`: two),
  /// promises included. They are compared with an `all` of 1,000.
  static let operators = OurWorks.operators.map { name, work in
    let isLink = work.unit == "link"
    return Row(
      isLink ? "chain of 1,000 `\(name)`" : "`\(name)`", against: isLink ? "`map`" : "`all` of 1,000", .timesTheCost,
      ours: work, theirs: isLink ? OurWorks.chain(of: 1000) : OurWorks.all1000)
  }
}
