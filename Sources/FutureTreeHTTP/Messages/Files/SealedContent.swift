import Foundation

extension Data {
  /// Returns the content of a file: a line with the name of the format and a digest of the file's name and these bytes, and then
  /// these bytes.
  package func sealed(as format: String, name: String = "") -> Data { seal(format, name) + self }

  /// Returns the bytes that were sealed. `nil` if the file was cut, changed or renamed, or has another format.
  package func unsealed(as format: String, name: String = "") -> Data? {
    guard let end = firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    let bytes = self[end...].dropFirst()
    return self[...end] == bytes.seal(format, name) ? bytes : nil
  }

  /// The first line of the content, for these bytes.
  private func seal(_ format: String, _ name: String) -> Data {
    Data("\(format) \(ASCII.hexadecimal(sha256(of: Data(name.utf8) + self)))\n".utf8)
  }
}
