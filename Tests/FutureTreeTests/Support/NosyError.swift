/// An error whose description uses the library.
struct NosyError: Error, CustomStringConvertible {
  private let text: String
  private let look: @Sendable () -> Void

  init(_ text: String, _ look: @escaping @Sendable () -> Void) {
    self.text = text
    self.look = look
  }

  var description: String {
    look()
    return text
  }
}
