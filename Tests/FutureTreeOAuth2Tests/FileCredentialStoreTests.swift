import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import TestSupport
import Testing

@testable import FutureTreeOAuth2

@Suite("FileCredentialStore")
final class FileCredentialStoreTests {
  private let root: URL
  private let file: URL
  private let store: FileCredentialStore
  private let credential = OAuth2Credential(
    accessToken: try! BearerToken("2YotnFZFEjr1zCsicMWpAA"), refreshToken: "tGzv3JOkF0XG5Qx2TlKWIA",
    expires: Date(timeIntervalSince1970: 1_800_003_600), scope: "read")

  init() throws {
    root = FileManager.default.temporaryDirectory.appending(
      path: "FutureTreeStore-\(ProcessInfo.processInfo.globallyUniqueString)"
    )
    .resolvingSymlinksInPath()
    try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
    file = root.appending(path: "a/b/credential")
    store = FileCredentialStore(at: file, on: .immediate)
  }

  deinit { try? FileManager.default.removeItem(at: root) }

  private func loaded() -> String {
    switch store.load().outcomeIfCompleted {
    case .success(let found): found == credential ? "the credential" : found == nil ? "nothing" : "another"
    case .failure(let error as HTTPError): "\(error.code)"
    default: "?"
    }
  }

  private func permissions(_ url: URL) throws -> Int {
    try #require(FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int)
  }

  private func setPermissions(_ permissions: Int, _ url: URL) throws {
    try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: url.path)
  }

  @Test("A saved credential is loaded, and a deleted one is not")
  func roundTrip() {
    expectEqual(loaded(), "nothing")
    expectEqual(store.delete().text, "success")

    expectEqual(store.save(credential).text, "success")
    expectEqual(loaded(), "the credential")
    #expect(store.save(OAuth2Credential(accessToken: try! BearerToken("x"))).text == "success" && loaded() == "another")
    expectEqual(store.delete().text, "success")
    expectEqual(loaded(), "nothing")
    expectEqual(store.delete().text, "success")
  }

  @Test("Only its user can read the file, and no temporary file remains")
  func permissions() throws {
    _ = store.save(credential)
    _ = store.save(credential)

    #expect(try permissions(file) == 0o600 && permissions(file.deletingLastPathComponent()) == 0o700)
    try expectEqual(
      FileManager.default.contentsOfDirectory(atPath: file.deletingLastPathComponent().path), ["credential"])
  }

  @Test("A failed write retains the existing file and leaves no temporary file")
  func failedWrite() throws {
    _ = store.save(credential)
    try FileManager.default.removeItem(at: file)
    try FileManager.default.createDirectory(at: file.appending(path: "x"), withIntermediateDirectories: true)

    expectEqual(store.save(credential).text, "credentialStoreFailed")
    expectEqual(loaded(), "credentialStoreFailed")

    try expectEqual(
      FileManager.default.contentsOfDirectory(atPath: file.deletingLastPathComponent().path), ["credential"])
  }

  @Test("A file that others can read or write is refused, and can be deleted", arguments: [0o644, 0o640, 0o602, 0o660])
  func readable(permissions: Int) throws {
    _ = store.save(credential)
    try setPermissions(permissions, file)

    expectEqual(loaded(), "credentialStoreFailed")
    expectEqual(store.delete().text, "success")
    expectEqual(loaded(), "nothing")
  }

  @Test("A directory that others can write is refused for loading and saving")
  func writableDirectory() throws {
    _ = store.save(credential)
    try setPermissions(0o777, file.deletingLastPathComponent())

    expectEqual(loaded(), "credentialStoreFailed")
    expectEqual(store.save(credential).text, "credentialStoreFailed")
  }

  @Test("Symbolic links are refused, and their targets stay unchanged")
  func links() throws {
    let other = root.appending(path: "other")
    let directory = file.deletingLastPathComponent()
    try Data("other".utf8).write(to: other)
    try setPermissions(0o600, other)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    try setPermissions(0o700, directory)
    try FileManager.default.createSymbolicLink(at: file, withDestinationURL: other)

    expectEqual(loaded(), "credentialStoreFailed")
    expectEqual(store.save(credential).text, "success")
    expectEqual(loaded(), "the credential")
    try expectEqual(String(contentsOf: other, encoding: .utf8), "other")
    let linked = root.appending(path: "linked")
    try FileManager.default.createSymbolicLink(at: linked, withDestinationURL: directory)
    let throughLink = FileCredentialStore(at: linked.appending(path: "credential"), on: .immediate)
    expectEqual(throughLink.load().text, "credentialStoreFailed")
    expectEqual(throughLink.save(credential).text, "credentialStoreFailed")
  }

  @Test(
    "An invalid file is an error that does not show its content",
    arguments: [
      "", "secret", "{\"version\":1}", "[", "{\"version\":1,\"credential\":{\"accessToken\":\"sec ret\"}}",
      "{\"version\":2,\"credential\":{\"accessToken\":\"secret\"}}",
    ])
  func corrupt(content: String) throws { try checkIsRefused(content) }

  @Test("A file larger than any credential is an error")
  func large() throws { try checkIsRefused(String(repeating: "secret", count: 200_000)) }

  private func checkIsRefused(_ content: String) throws {
    _ = store.save(credential)
    try Data(content.utf8).write(to: file)
    try setPermissions(0o600, file)

    guard case .failure(let error as HTTPError)? = store.load().outcomeIfCompleted else {
      Issue.record("It was loaded.")
      return
    }
    var printed = "\(error)"
    dump(error, to: &printed)
    expectEqual(error.code, .credentialStoreFailed)
    #expect(!printed.contains("sec"))
    expectEqual(store.save(credential).text, "success")
    expectEqual(loaded(), "the credential")
  }

  @Test("A temporary file left by a killed process is deleted with the file")
  func leftovers() throws {
    _ = store.save(credential)
    let directory = file.deletingLastPathComponent()
    try Data("{".utf8).write(to: directory.appending(path: ".credential.new-abc"))
    try Data("{".utf8).write(to: directory.appending(path: ".another.new-abc"))

    expectEqual(loaded(), "the credential")
    expectEqual(store.delete().text, "success")

    try expectEqual(FileManager.default.contentsOfDirectory(atPath: directory.path), [".another.new-abc"])
  }

  @Test("Nothing printable shows the tokens (H11, no printed secret)")
  func redacted() {
    var printed = "\(credential) \(String(reflecting: credential)) \(Optional(credential) as Any)"
    dump(credential, to: &printed)
    dump(MemoryCredentialStore(credential), to: &printed)
    dump(OAuth2Client.confidential(id: "s6BhdRkqt3", secret: "gX1fBat3bV"), to: &printed)

    #expect(!printed.contains("2Yotn") && !printed.contains("tGzv") && !printed.contains("gX1f"))
    #expect(printed.contains("with a refresh token"))
  }
}
