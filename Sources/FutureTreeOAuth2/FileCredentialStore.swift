import Foundation
import FutureTree
import FutureTreeHTTP

/// A store that keeps the credential in a file that nobody else can read.
///
/// ```swift
/// let store = FileCredentialStore(at: URL(filePath: "/home/ada/.config/example/credential"))
/// ```
///
/// The file has the permissions 0600, is encoded as JSON and not encrypted: where there is a keychain, use that. It is written
/// whole or not at all: under another name beside its own, to the disk, and then renamed. Its directory is made with the
/// permissions 0700 if it is missing.
///
/// What others could read or exchange is refused, with the code `credentialStoreFailed`: a file or a directory that is a
/// symbolic link or belongs to another user; a file that the group or others may read or write; a directory that they may
/// write. Directories above it are not looked at. A file that is no credential is refused with the same code, until a
/// `delete()` or `save(_:)` makes an end of it.
///
/// Several processes may use one file: each reads what one of them has written whole.
public final class FileCredentialStore: CredentialStore {
  private let file: PrivateFile
  private let executor: FutureExecutor

  /// - Parameters:
  ///   - url: the file.
  ///   - executor: where it is read and written, which may block.
  ///   - random: where the names of the files come from that are renamed.
  public init(at url: URL, on executor: FutureExecutor = .global(qos: .utility), random: RandomSource = .system) {
    file = PrivateFile(url: url, random: random)
    self.executor = executor
  }

  public func load() -> Future<OAuth2Credential?> {
    Future(on: executor) { [file] in try file.read().map { try FileCredentialStore.credential(in: $0) } }
  }

  public func save(_ credential: OAuth2Credential) -> Future<Void> {
    Future(on: executor) { [file] in try file.write(try JSONEncoder().encode(Saved(version: 1, credential: credential)))
    }
  }

  /// Removes the file, and what a process that was killed has left of one.
  public func delete() -> Future<Void> {
    Future(on: executor) { [file] in try file.remove() }
  }

  private struct Saved: Codable {
    let version: Int
    let credential: OAuth2Credential
  }

  /// What the decoder says may hold values, and is left out.
  private static func credential(in data: Data) throws(HTTPError) -> OAuth2Credential {
    guard let saved = try? JSONDecoder().decode(Saved.self, from: data), saved.version == 1 else {
      throw PrivateFile.failed("is no credential of this version; delete it, and log in again")
    }
    return saved.credential
  }
}
