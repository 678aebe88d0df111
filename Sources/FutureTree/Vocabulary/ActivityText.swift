/// The text of an activity. An object, because receipts are copied more often than their text is read.
final class ActivityText: Sendable, Hashable {
  let text: String

  init(_ text: String) { self.text = text }

  static func == (first: ActivityText, second: ActivityText) -> Bool { first.text == second.text }

  func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
