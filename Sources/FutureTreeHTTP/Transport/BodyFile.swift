import Foundation
import FutureTree

/// A body that is being written to a file. Until it is complete, the file has a temporary name in the same directory.
///
/// It is used by one thread at a time: it belongs to one `ResponseReceiver`, which cannot be copied.
final class BodyFile: @unchecked Sendable {  // Because: its receiver has exclusive access.
  private let destination: URL
  private let temporary: String
  private var descriptor: Int32
  private(set) var size = 0

  /// Creates the temporary file.
  ///
  /// - Throws: `HTTPError` with the code `unwritableBody`.
  convenience init(for destination: URL) throws(HTTPError) {
    let folder = destination.deletingLastPathComponent()
    while true {
      let path = folder.appendingPathComponent(BodyFile.nextName()).path
      let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
      if descriptor >= 0 {
        self.init(descriptor, temporary: path, for: destination)
        return
      }
      // A process that was killed left this file behind. Try the next name.
      guard errno == EEXIST else { throw BodyFile.refused("cannot be created", errno) }
    }
  }

  /// Returns a file name that is unique in this process.
  private static func nextName() -> String {
    let number = lastNumber.withLock { number in
      number += 1
      return number
    }
    return ".FutureTree-\(ProcessInfo.processInfo.processIdentifier)-\(number).partial"
  }

  private static let lastNumber = Locked(0)

  /// Creates a body file from an open descriptor.
  init(_ descriptor: Int32, temporary: String, for destination: URL) {
    self.descriptor = descriptor
    self.temporary = temporary
    self.destination = destination
  }

  /// Refuses a URL at which no file can be created, before the request is sent.
  static func check(_ destination: URL) throws(HTTPError) {
    guard destination.isFileURL else {
      throw HTTPError(
        .unwritableBody, "The file of the body cannot be created. Its URL is not a file URL. Use a file URL.")
    }
    guard !isDirectory(destination) else { throw refused("cannot be created", EISDIR) }
    guard isDirectory(destination.deletingLastPathComponent()) else {
      throw refused("cannot be created in a missing directory", ENOENT)
    }
  }

  private static func isDirectory(_ url: URL) -> Bool {
    var isDirectory: ObjCBool = false
    return FileManager.default.fileExists(atPath: url.path, isDirectory: &isDirectory) && isDirectory.boolValue
  }

  func append(_ data: Data) throws(HTTPError) {
    let fault = data.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) -> Int32? in
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return errno }
        rest = rest.dropFirst(count)
      }
      return nil
    }
    if let fault { throw BodyFile.refused("cannot be written", fault) }
    size += data.count
  }

  /// Renames the file to its final name.
  func commit() throws(HTTPError) {
    let status = close(descriptor)
    let fault = errno
    descriptor = -1
    guard status == 0 else {
      discard()
      throw BodyFile.refused("cannot be written", fault)
    }
    guard rename(temporary, destination.path) == 0 else {
      let fault = errno
      discard()
      throw BodyFile.refused("cannot be renamed to its final name", fault)
    }
  }

  /// Removes the temporary file. Has no effect on a committed file.
  func discard() {
    if descriptor >= 0 { close(descriptor) }
    descriptor = -1
    unlink(temporary)
  }

  /// The message does not contain the path, which may be a secret.
  private static func refused(_ fault: String, _ number: Int32) -> HTTPError {
    HTTPError(
      .unwritableBody,
      "The file of the body \(fault) (\(String(cString: strerror(number)))). Check its directory and the free space.")
  }

  deinit {
    if descriptor >= 0 { discard() }
  }
}
