import Foundation
import FutureTree
import FutureTreeHTTP

/// The file of a jar. Writes are made one at a time, each with the newest cookies.
///
/// The content is JSON, sealed by `Data.sealed(as:name:)`.
final class CookieFile: Sendable {
  private struct Contents {
    var cookies: [CookieJar.Cookie]
    let written = Promise<Void>()
  }

  private struct Guarded {
    var isWriting = false
    var next: Contents?
    /// The end of the last write.
    var last = Future<Void>.succeeded
    var version = -1
  }

  private static let format = "FutureTree cookies 1"

  private let file: PrivateFile
  private let onFault: @Sendable (HTTPError) -> Void
  private let guarded = Locked(Guarded())

  init(_ url: URL, _ onFault: @escaping @Sendable (HTTPError) -> Void) {
    file = CookieFile.file(url)
    self.onFault = onFault
  }

  /// The cookies of a full jar with the default limits need about 13 MB.
  static func file(_ url: URL) -> PrivateFile {
    PrivateFile(url, name: "file of the cookies", code: .storeFailed, maximumSize: 16 << 20)
  }

  /// Reads the file. Reports a fault, and returns no cookies then.
  func read() -> (cookies: [CookieJar.Cookie], isDamaged: Bool) {
    do throws(HTTPError) {
      guard let data = try file.read() else { return ([], false) }
      if let cookies = CookieFile.decode(data) { return (cookies, false) }
      onFault(
        HTTPError(.storeFailed, "The file of the cookies is damaged. It is replaced. The cookies in it are lost."))
      return ([], true)
    } catch {
      onFault(error)
      return ([], false)
    }
  }

  /// Writes the cookies, or removes the file if there are none, on another thread. Older cookies do not replace newer ones.
  func write(_ cookies: [CookieJar.Cookie], version: Int) {
    let begins = guarded.withLock { guarded in
      guard version > guarded.version else { return false }
      guarded.version = version
      guard guarded.next == nil else {
        guarded.next?.cookies = cookies
        return false
      }
      let contents = Contents(cookies: cookies)
      guarded.next = contents
      guarded.last = contents.written.future
      defer { guarded.isWriting = true }
      return !guarded.isWriting
    }
    if begins { DispatchQueue.global(qos: .utility).async { [self] in writeAll() } }
  }

  /// Returns a future that completes when all earlier writes have ended. It fails if the last of them failed.
  func flush() -> Future<Void> { guarded.withLock { $0.last }.shielded() }

  private func writeAll() {
    while let contents = next() {
      do throws(HTTPError) {
        if contents.cookies.isEmpty {
          try file.remove()
        } else {
          guard let data = try? CookieFile.encode(contents.cookies) else { throw file.failed("cannot be encoded") }
          try file.write(data)
        }
        contents.written.succeed()
      } catch {
        onFault(error)
        contents.written.fail(error)
      }
    }
  }

  private func next() -> Contents? {
    guarded.withLock { guarded in
      guarded.isWriting = guarded.next != nil
      return guarded.next.take()
    }
  }
}

// MARK: - Format

extension CookieFile {
  static func encode(_ cookies: [CookieJar.Cookie]) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    return try encoder.encode(cookies).sealed(as: format)
  }

  /// Returns `nil` for a damaged file.
  static func decode(_ data: Data) -> [CookieJar.Cookie]? {
    guard let json = data.unsealed(as: format) else { return nil }
    return try? JSONDecoder().decode([CookieJar.Cookie].self, from: Data(json))
  }
}
