import Foundation
import FutureTree

/// A body that is being written to a file. Until it is complete, the file has a temporary name.
///
/// It is used by one thread at a time: it belongs to one `ResponseReceiver`, which cannot be copied, or to one `PartialFile`.
final class BodyFile: @unchecked Sendable {  // Because: its owner has exclusive access.
  private let destination: URL
  private let temporary: String
  private var descriptor: Int32
  private(set) var size: Int

  /// Creates the temporary file next to the destination.
  ///
  /// - Throws: `HTTPError` with the code `unwritableBody`.
  convenience init(for destination: URL) throws(HTTPError) {
    while true {
      let path = BodyFile.temporaryURL(for: destination).path
      let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
      if descriptor >= 0 {
        self.init(descriptor, temporary: path, for: destination)
        return
      }
      // A process that was killed left this file behind. Try the next name.
      guard errno == EEXIST else { throw BodyFile.refused("cannot be created", errno) }
    }
  }

  /// Returns a URL next to the destination, whose name is unique in this process.
  static func temporaryURL(for destination: URL) -> URL {
    let number = lastNumber.withLock { number in
      number += 1
      return number
    }
    let name = ".FutureTree-\(ProcessInfo.processInfo.processIdentifier)-\(number).partial"
    return destination.deletingLastPathComponent().appendingPathComponent(name)
  }

  private static let lastNumber = Locked(0)

  /// Creates a body file from an open descriptor, whose position is the end of the file.
  init(_ descriptor: Int32, temporary: String, for destination: URL, size: Int = 0) {
    self.descriptor = descriptor
    self.size = size
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

  /// Removes the bytes after a position.
  func truncate(to position: Int) throws(HTTPError) {
    guard ftruncate(descriptor, off_t(position)) == 0, lseek(descriptor, 0, SEEK_END) == position else {
      throw BodyFile.refused("cannot be truncated", errno)
    }
    size = position
  }

  /// Renames the file to its final name. On another volume, a copy gets the name.
  func commit() throws(HTTPError) {
    // Closing a duplicate reports the errors of delayed writes, and keeps the lock of the file until it has its name.
    let duplicate = dup(descriptor)
    guard duplicate >= 0, close(duplicate) == 0 else { throw discarding("cannot be written") }
    if rename(temporary, destination.path) == 0 { return closeDescriptor() }
    guard errno == EXDEV else { throw discarding("cannot be renamed to its final name") }
    try copy()
  }

  private func copy() throws(HTTPError) {
    defer { discard() }
    let (reader, copy) = (try OpenFile(URL(fileURLWithPath: temporary)).reader(), try BodyFile(for: destination))
    while true {
      let bytes = try HTTPBodyReader.naming { try reader.read(upTo: 1 << 20) }
      if bytes.isEmpty { return try copy.commit() }
      try copy.append(bytes)
    }
  }

  /// Removes the temporary file. Has no effect on a committed file.
  func discard() {
    guard descriptor >= 0 else { return }
    unlink(temporary)
    closeDescriptor()
  }

  /// Closes the file, and leaves it under its temporary name.
  func closeDescriptor() {
    close(descriptor)
    descriptor = -1
  }

  /// Discards the file after a system call has failed.
  private func discarding(_ fault: String) -> HTTPError {
    let error = BodyFile.refused(fault, errno)
    discard()
    return error
  }

  /// The message does not contain the path, which may be a secret.
  static func refused(_ fault: String, _ number: Int32) -> HTTPError {
    HTTPError(
      .unwritableBody,
      "The file of the body \(fault) (\(String(cString: strerror(number)))). Check its directory and the free space.")
  }

  deinit {
    discard()
  }
}
