import Foundation
import FutureTreeHTTP

/// A part of a form, as written or as parsed.
private struct Part: Equatable {
  var name: String
  var fileName: String?
  var contentType: String?
  var content: [UInt8]

  /// The part with escaped names.
  var escaped: Part {
    func escaped(_ text: String) -> String {
      text.unicodeScalars.map { scalar in
        let isKept = scalar.value >= 0x20 && scalar.value != 0x7F && scalar != "\"" && scalar != "\\"
        return isKept ? String(scalar) : String(format: "%%%02X", scalar.value)
      }.joined()
    }
    var part = self
    part.name = escaped(name)
    part.fileName = fileName.map(escaped)
    return part
  }
}

/// A strict parser finds exactly the parts of the form.
func fuzzMultipart(_ bytes: [UInt8]) throws {
  var input = Input(bytes)
  let file = FileManager.default.temporaryDirectory.appendingPathComponent("FutureTree-Fuzz-\(getpid())")
  var parts: [HTTPBody.Part] = []
  var expected: [Part] = []
  var fileContent: [UInt8]?
  defer { if fileContent != nil { try? FileManager.default.removeItem(at: file) } }
  for _ in 0..<input.byte() % 6 {
    let kind = input.byte()
    let name = input.text()
    let fileName = input.text()
    let contentType = input.text()
    let content = input.bytes()
    let type = (try? HTTPBody.Part.data("", Data(), contentType: contentType)) == nil ? "a/b" : contentType
    switch kind % 4 {
    case 0:
      let text = String(decoding: content, as: UTF8.self)
      parts.append(.text(name, text))
      expected.append(Part(name: name, content: Array(text.utf8)))
    case 1:
      parts.append(try .data(name, Data(content), contentType: type))
      expected.append(Part(name: name, contentType: type, content: content))
    case 2 where kind >= 0xE0:  // Rare, because files are slow.
      if fileContent == nil {
        try Data(content).write(to: file)
        fileContent = content
      }
      parts.append(try .file(name, file, fileName: fileName, contentType: type))
      expected.append(Part(name: name, fileName: fileName, contentType: type, content: fileContent ?? []))
    default:
      parts.append(try .data(name, Data(content), fileName: fileName, contentType: type))
      expected.append(Part(name: name, fileName: fileName, contentType: type, content: content))
    }
  }

  let body = try HTTPBody.multipart(parts)
  let sent = try read(body, by: Int(input.byte()) + 1)

  check(body.contentLength == sent.count, "The body has \(sent.count) bytes and announced \(body.contentLength ?? -1).")
  let found = parsed(sent, body.contentType ?? "")
  check(found == expected.map(\.escaped), "The parts are others: \(found)")
}

private func read(_ body: HTTPBody, by size: Int) throws -> [UInt8] {
  let reader = try body.makeReader()
  var sent: [UInt8] = []
  while case let bytes = try reader.read(upTo: size), !bytes.isEmpty { sent.append(contentsOf: bytes) }
  return sent
}

/// Parses a form by RFC 2046, section 5.1, and RFC 7578, strictly. Names stay escaped.
private func parsed(_ bytes: [UInt8], _ contentType: String) -> [Part] {
  let prefix = "multipart/form-data; boundary="
  check(contentType.hasPrefix(prefix), "The content type is \(contentType).")
  let delimiter = Array("--\(contentType.dropFirst(prefix.count))".utf8)
  var rest = bytes[...]
  var parts: [Part] = []
  drop(delimiter, from: &rest)
  while !rest.starts(with: "--".utf8) {
    drop("\r\n".utf8, from: &rest)
    var part = Part(name: "", content: [])
    var isNamed = false
    while case let line = takeLine(&rest), !line.isEmpty {
      if line.hasPrefix("Content-Type: ") {
        check(part.contentType == nil, "There are two content types.")
        part.contentType = String(line.dropFirst("Content-Type: ".count))
      } else {
        check(!isNamed, "There are two names, or a header of another kind: \(line)")
        isNamed = true
        (part.name, part.fileName) = names(in: line)
      }
    }
    check(isNamed, "A part has no name.")
    guard let end = rest.firstRange(of: Array("\r\n".utf8) + delimiter) else { fail("A part has no end.") }
    part.content = Array(rest[..<end.lowerBound])
    rest = rest[end.upperBound...]
    parts.append(part)
  }
  check(rest.elementsEqual("--\r\n".utf8), "Something follows the end.")
  return parts
}

private func drop(_ text: some Collection<UInt8>, from rest: inout ArraySlice<UInt8>) {
  check(rest.starts(with: text), "\(String(decoding: Array(text), as: UTF8.self).debugDescription) is missing.")
  rest = rest.dropFirst(text.count)
}

private func takeLine(_ rest: inout ArraySlice<UInt8>) -> String {
  guard let end = rest.firstRange(of: "\r\n".utf8) else { fail("A line has no end.") }
  defer { rest = rest[end.upperBound...] }
  let line = rest[..<end.lowerBound]
  check(!line.contains { ($0 < 0x20 && $0 != 0x09) || $0 == 0x7F }, "A line of a header has a control byte.")
  return String(decoding: line, as: UTF8.self)
}

/// Works on bytes, because a quote with a combining mark is one `Character`.
private func names(in line: String) -> (name: String, fileName: String?) {
  var rest = Array(line.utf8)[...]
  drop("Content-Disposition: form-data; name=\"".utf8, from: &rest)
  let name = takeQuoted(&rest)
  guard !rest.isEmpty else { return (name, nil) }
  drop("; filename=\"".utf8, from: &rest)
  let fileName = takeQuoted(&rest)
  check(rest.isEmpty, "Something follows the names: \(line)")
  return (name, fileName)
}

/// Takes the text up to the next quote. A backslash fails, because it could escape that quote.
private func takeQuoted(_ rest: inout ArraySlice<UInt8>) -> String {
  guard let end = rest.firstIndex(of: UInt8(ascii: "\"")) else { fail("A quote is open.") }
  defer { rest = rest[(end + 1)...] }
  check(!rest[..<end].contains(UInt8(ascii: "\\")), "A backslash stands between quotes.")
  return String(decoding: rest[..<end], as: UTF8.self)
}
