import Foundation

/// Base64 for URLs: with `-` and `_`, and without padding (RFC 4648, section 5; RFC 7636, appendix A).
enum Base64URL {
  static func encoded(_ bytes: [UInt8]) -> String {
    Data(bytes).base64EncodedString().filter { $0 != "=" }.replacing("+", with: "-").replacing("/", with: "_")
  }
}
