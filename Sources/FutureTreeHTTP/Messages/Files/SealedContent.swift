import Foundation

extension Data {
  /// Returns the content of a file: a line with the name of the format and a digest of the file's name and these bytes, and then
  /// these bytes.
  package func sealed(as format: String, name: String = "") -> Data {
    Data("\(format) \(ASCII.hexadecimal(sha256(of: Data(name.utf8) + self)))\n".utf8) + self
  }

  /// Returns the bytes that were sealed. `nil` if the file was cut, changed or renamed, or has another format.
  package func unsealed(as format: String, name: String = "") -> Data? {
    let bytes = drop { $0 != UInt8(ascii: "\n") }.dropFirst()
    return bytes.sealed(as: format, name: name) == self ? bytes : nil
  }
}
