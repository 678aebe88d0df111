import Foundation
import FutureTree
import FutureTreeHTTP
import Synchronization

/// A curl command, split as a shell splits it, has the intended arguments and body, and is read again as the request that it was. A
/// redacted command contains no secret. Any text is read, or refused.
func fuzzCurl(_ bytes: [UInt8]) throws {
  if let read = try? HTTPRequest(curl: "curl " + String(decoding: bytes, as: UTF8.self)) { checkReading(of: read) }
  var input = Input(bytes)
  let method = (try? HTTPMethod(input.text())) ?? .post
  let url = try (try? HTTPURL(input.text())) ?? HTTPURL("http://a/'$(b)'?c=d'")
  let reason = input.text()
  let isFile = input.byte() % 2 == 1
  var request = HTTPRequest(method, url)
  for _ in 0..<input.byte() % 5 { try? request.addHeader(input.text(), input.text()) }
  let contentType = input.text()
  let body = input.remaining()
  if isFile {
    request.body = .file(URL(fileURLWithPath: "/" + String(decoding: body, as: UTF8.self)), contentType: contentType)
  } else {
    request.body = .data(Data(body), contentType: contentType)
  }
  checkCommand(of: request, body)
  checkReading(of: request)
  guard String(decoding: bytes, as: UTF8.self).range(of: secret) == nil else { return }
  try checkRedaction(of: request, reason)
}

private let secret = "sWoRdFiSh"

private func checkCommand(of request: HTTPRequest, _ body: [UInt8]) {
  var expected = ["curl", "--request", request.method.name]
  var fields = request.headers.map { ($0.name, $0.value) }
  if !request.headers.contains("Content-Type"), (try? request.body.checkContentType()) != nil {
    fields.append(("Content-Type", request.body.contentType ?? ""))
  }
  for (name, value) in fields { expected += ["--header", value.isEmpty ? "\(name);" : "\(name): \(value)"] }

  var commands = words(of: request.curl(redacting: .nothing))

  let isPiped = commands.count == 2
  if isPiped {
    let source = commands.removeFirst()
    check(source.count == 2 && source[0] == Array("printf".utf8), "The pipe begins otherwise.")
    check(printed(by: source[1]) == body, "The body is another.")
    expected += ["--data-binary", "@-"]
  } else if case .file(let file) = request.body.content {
    expected += ["--data-binary", "@" + file.path.replacing("\0", with: "%00")]
  } else {
    expected += ["--data-raw", String(decoding: body, as: UTF8.self)]
  }
  let url = request.url?.absoluteString ?? ""
  if url.contains(where: { "[]".contains($0) }) { expected.append("--globoff") }
  expected += ["--url", url]
  check(commands == [expected.map { Array($0.utf8) }], "The words are others: \(request.curl(redacting: .nothing))")
}

/// The command of a request is read as that request. A body without a valid type has another one then, and a stream is not read.
private func checkReading(of request: HTTPRequest) {
  if case .stream = request.body.content { return }
  guard request.body.isEmpty || (try? request.body.checkContentType()) != nil else { return }
  let command = request.curl(redacting: .nothing)
  do {
    let read = try HTTPRequest(curl: command)
    check(read.curl(redacting: .nothing) == command, "It is read as another request: \(command)")
    check(read.url == request.url && read.method == request.method, "The target is another: \(command)")
  } catch { fail("The command is not read: \(command): \(error)") }
}

/// Returns the words of each command of a pipe. Strict: a byte that is special to any shell must be in quotes.
private func words(of command: String) -> [[[UInt8]]] {
  var commands: [[[UInt8]]] = [[]]
  var word: [UInt8]?
  var rest = command.utf8[...]
  check(!command.utf8.contains(0), "The command has a NUL.")
  while let byte = rest.popFirst() {
    switch UnicodeScalar(byte) {
    case " ":
      if let ended = word { commands[commands.count - 1].append(ended) }
      word = nil
    case "|":
      check(word == nil && rest.popFirst() == 0x20, "The pipe is in a word.")
      commands.append([])
    case "'":
      guard let end = rest.firstIndex(of: 0x27) else { fail("A quote does not end: \(command)") }
      word = (word ?? []) + rest[..<end]
      rest = rest[end...].dropFirst()
    case "\\":
      check(rest.popFirst() == 0x27, "A backslash is before something else than a quote: \(command)")
      word = (word ?? []) + [0x27]
    case "a"..."z", "@", "-":
      word = (word ?? []) + [byte]
    default:
      fail("The byte \(byte) stands outside of quotes: \(command)")
    }
  }
  if let word { commands[commands.count - 1].append(word) }
  return commands
}

/// Returns the output of the POSIX `printf` for a format with three-digit octal escapes and no conversions.
private func printed(by format: [UInt8]) -> [UInt8] {
  check(format.first != 0x2D, "The format looks like an option.")
  var bytes: [UInt8] = []
  var rest = format[...]
  while let byte = rest.popFirst() {
    check(
      byte != 0x25 && (0x20...0x7E).contains(byte), "The format has a percent sign, or a byte that is not printable.")
    guard byte == 0x5C else {
      bytes.append(byte)
      continue
    }
    guard let octal = UInt8(String(decoding: rest.prefix(3), as: UTF8.self), radix: 8), rest.count >= 3 else {
      fail("A backslash is not before three octal digits.")
    }
    bytes.append(octal)
    rest = rest.dropFirst(3)
  }
  return bytes
}

private func checkRedaction(of request: HTTPRequest, _ reason: String) throws {
  var request = request
  request.target = .url(request.url!.appending(query: [("key", secret), (secret, nil)]))
  for name in ["Authorization", "X-Anything", "Cookie"] { try request.addHeader(name, secret) }
  if case .data(let data) = request.body.content { request.body = .data(data + Data(secret.utf8)) }
  if case .file(let url) = request.body.content { request.body = .file(url.appending(path: secret)) }
  let lines = Lines()
  let log = Log { line in lines.all.withLock { $0.append(line) } }

  log.load(request, next: Cancelled()).cancel()
  log.load(request, next: Cancelled(reason: CancellationReason(reason, fileID: reason, line: 1))).cancel()

  let written = lines.all.withLock { $0 }
  check(written.count == 4, "There are \(written.count) lines.")
  for text in written + [request.curl(), "\(request)"] {
    check(!text.contains(secret), "It shows the secret: \(text)")
    check(!text.contains(where: \.isNewline), "It spans lines: \(text)")
  }
  for line in written {
    let hasControl = line.unicodeScalars.contains {
      [Unicode.GeneralCategory.control, .format].contains($0.properties.generalCategory)
    }
    check(!hasControl && line.unicodeScalars.count < 1_000, "The line has control characters, or is long.")
  }
}

private final class Lines: Sendable {
  let all = Mutex<[String]>([])
}

/// A loader that completes every load `.cancelled`.
private struct Cancelled: HTTPLoader {
  var reason: CancellationReason = "enough"

  func load(_: HTTPRequest) -> Future<HTTPResponse> { .cancelled(reason) }

  func reset() -> Future<Void> { .succeeded(()) }
}
