/// The measured works of FutureTree. One repetition has about 1,000 operations, except for the large sizes of `growth`.
public enum OurWorks {
  /// A work, and its name for `CountWorks run`.
  public typealias Named = (name: String, work: Work)

  /// The works whose heap blocks and instructions are guarded, by the names in the baseline.
  public static let guarded: [Named] = [
    ("promise", promise), ("chain", chain(of: 1000)), ("children", children), ("cancel", cancelTail),
  ]

  /// All works.
  public static let all: [Named] =
    guarded + promises + chains + operators + trees + everyday + tokens + queues + awaiting + growth + loads
}
