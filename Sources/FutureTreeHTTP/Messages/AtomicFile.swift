import Foundation

/// A file that is read and replaced as a whole. A crash leaves the old or the new contents.
enum AtomicFile {
  /// Reads a file. Returns `nil` if there is none.
  static func read(_ path: String) throws(FileFault) -> Data? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      guard errno == ENOENT else { throw FileFault(errno) }
      return nil
    }
    defer { close(descriptor) }
    var data = Data()
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = buffer.withUnsafeMutableBytes { Foundation.read(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw FileFault(errno) }
      if count == 0 { return data }
      data.append(contentsOf: buffer[..<count])
    }
  }

  /// Replaces a file. Only the current user can read it.
  ///
  /// The bytes are written to another file, which gets the name when they are on the disk. Only one thread at a time writes a file.
  ///
  /// - Parameter crashingAfter: The number of bytes after which a test simulates a crash.
  static func write(_ data: Data, to path: String, crashingAfter limit: Int = .max) throws(FileFault) {
    let temporary = path + ".new"
    // The rest of a crash can be there, with other permissions.
    unlink(temporary)
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw FileFault(errno) }
    defer { close(descriptor) }
    var fault = append(data.prefix(limit), to: descriptor)
    guard data.count <= limit else { throw FileFault(text: "simulated crash") }
    if fault == nil, fsync(descriptor) != 0 { fault = FileFault(errno) }
    if fault == nil, rename(temporary, path) != 0 { fault = FileFault(errno) }
    if let fault {
      unlink(temporary)
      throw fault
    }
    synchronizeDirectory(of: path)
  }

  /// Removes a file, and what a crash during a write left behind.
  static func remove(_ path: String) throws(FileFault) {
    for path in [path + ".new", path] {
      guard unlink(path) == 0 || errno == ENOENT else { throw FileFault(errno) }
    }
    synchronizeDirectory(of: path)
  }

  private static func append(_ data: Data, to descriptor: Int32) -> FileFault? {
    data.withUnsafeBytes { bytes in
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = Foundation.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return FileFault(errno) }
        rest = rest.dropFirst(count)
      }
      return nil
    }
  }

  /// Writes the name of a file to the disk. Some file systems do not support it, and the contents are on the disk without it.
  private static func synchronizeDirectory(of path: String) {
    let directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
    let descriptor = open(directory, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    fsync(descriptor)
    close(descriptor)
  }
}

/// A fault of the file system. Its text contains no path, which may be a secret.
struct FileFault: Error {
  let text: String

  init(_ number: Int32) {
    text = String(cString: strerror(number))
  }

  init(text: String) {
    self.text = text
  }
}
