import Foundation
import FutureTree
import FutureTreeHTTP

/// A credential store that uses a file that only its user can read.
///
/// ```swift
/// let store = FileCredentialStore(at: URL(filePath: "/home/ada/.config/example/credential"))
/// ```
///
/// The file has the permissions 0600. It contains JSON and is not encrypted. If the platform has a keychain, use the
/// keychain instead. A write is atomic: a temporary file in the same directory is written, synchronized to disk, and
/// renamed. If the directory is missing, it is created with the permissions 0700.
///
/// The store fails with the code `credentialStoreFailed` in these cases, because other users could read or replace the
/// file:
///
/// - The file or its directory is a symbolic link or belongs to another user.
/// - The group or others may read or write the file.
/// - The group or others may write to the directory.
///
/// Parent directories of that directory are not checked. If the content of the file is not a credential, `load()` fails
/// with the same code until `delete()` or `save(_:)` is called.
///
/// Several processes can use the same file. Each reads a complete credential that one of them has written.
public final class FileCredentialStore: CredentialStore {
  private let file: PrivateFile
  private let executor: FutureExecutor

  /// Creates a store.
  ///
  /// - Parameters:
  ///   - url: The URL of the file.
  ///   - executor: The executor on which the file is read and written. It may block. Defaults to a global queue with the
  ///     quality of service `utility`.
  ///   - random: The source of the names of temporary files.
  public init(at url: URL, on executor: FutureExecutor = .global(qos: .utility), random: RandomSource = .system) {
    file = PrivateFile(url, name: "credential file", code: .credentialStoreFailed, random: random)
    self.executor = executor
  }

  public func load() -> Future<OAuth2Credential?> {
    Future(on: executor) { [file] in
      try file.read().map { data in
        guard let credential = FileCredentialStore.credential(in: data) else {
          throw file.failed("does not contain a credential of this version")
        }
        return credential
      }
    }
  }

  public func save(_ credential: OAuth2Credential) -> Future<Void> {
    Future(on: executor) { [file] in try file.write(try JSONEncoder().encode(Saved(version: 1, credential: credential)))
    }
  }

  /// Removes the file, and temporary files that a killed process left behind.
  public func delete() -> Future<Void> {
    Future(on: executor) { [file] in try file.remove() }
  }

  private struct Saved: Codable {
    let version: Int
    let credential: OAuth2Credential
  }

  /// Decodes a credential. The error of the decoder is omitted, because it may contain values.
  private static func credential(in data: Data) -> OAuth2Credential? {
    guard let saved = try? JSONDecoder().decode(Saved.self, from: data), saved.version == 1 else { return nil }
    return saved.credential
  }
}
