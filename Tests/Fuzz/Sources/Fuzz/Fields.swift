import Foundation
import FutureTree

@testable import FutureTreeHTTP

/// An accepted request line with its header fields is written as exactly the intended lines. A response has only fields that were
/// received.
func fuzzFields(_ bytes: [UInt8]) throws {
  var input = Input(bytes)
  let methodName = input.text()
  let contentType = input.text()
  let method = (try? HTTPMethod(methodName)) ?? .get
  check(method == .get || method.name == methodName, "The method was changed.")
  var request = HTTPRequest(method, try HTTPURL("http://a/"))
  var expected: [(String, String)] = []
  var received: [(name: String, value: String)] = []
  while !input.isEmpty {
    let name = input.text()
    let value = input.text()
    received.append((name, value))
    let before = request.headers
    do {
      try request.addHeader(name, value)
      expected.append((name, value))
    } catch {
      check(request.headers == before, "A refused field changed the headers.")
      check(!"\(error)".contains(where: \.isNewline), "An error spans lines.")
    }
  }

  let head =
    "\(request.method) / HTTP/1.1\r\n" + request.headers.map { "\($0.name): \($0.value)\r\n" }.joined() + "\r\n"
  let (line, fields) = strictlyParsed(head)
  check(line == [method.name, "/", "HTTP/1.1"], "The request line was split: \(line)")
  check(fields.map(\.0) == expected.map(\.0), "The names are others.")
  check(fields.map(\.1) == expected.map(\.1), "The values are others.")
  for (name, _) in expected { checkLists(request.headers, name) }
  checkEquality(request.headers)
  checkReceived(received, request)
  checkContentType(contentType)
  checkDecoding(bytes, request)
  checkText(bytes, contentType, request)
}

/// Parses a head by RFC 9112, sections 3 and 5, strictly. Lines end with CR LF and nothing else.
private func strictlyParsed(_ head: String) -> (line: [String], fields: [(String, String)]) {
  let bytes = Array(head.utf8)
  check(!bytes.contains { $0 == 0 || $0 >= 0x7F }, "The head has a byte that may not be there.")
  let lines = head.utf8.split(omittingEmptySubsequences: false) { $0 == 0x0A }.map { Array($0) }
  check(lines.dropLast().allSatisfy { $0.last == 0x0D }, "A line ends without CR.")
  let texts = lines.dropLast().map { $0.dropLast() }
  check(!texts.contains { $0.contains(0x0D) }, "A line has CR within.")
  check(lines.last == [] && texts.last?.isEmpty == true, "The head does not end with an empty line.")
  check(!texts.dropLast().contains { $0.isEmpty }, "The head has an empty line within.")
  let fields = texts.dropFirst().dropLast().map { line in
    guard let colon = line.firstIndex(of: 0x3A), colon > 0 else { fail("A field has no name.") }
    let value = line[(colon + 1)...]
    check(value.first == 0x20, "A field has no blank before its value.")
    return (String(decoding: line[..<colon], as: UTF8.self), String(decoding: value.dropFirst(), as: UTF8.self))
  }
  return (texts[0].split(separator: 0x20).map { String(decoding: $0, as: UTF8.self) }, Array(fields))
}

private func checkLists(_ headers: HTTPHeaders, _ name: String) {
  let values = headers.values(for: name)
  check(values.first == headers[name], "The first value is another.")
  let elements = headers.elements(of: name)
  for element in elements {
    check(!element.isEmpty && element.first != " " && element.last != "\t", "An element has blanks around it.")
  }
  guard let joined = headers.joined(name) else { return check(name.lowercased() == "set-cookie", "It is not joined.") }
  // An open quote would extend into the next value.
  guard !values.contains(where: { $0.contains("\"") }) else { return }
  let again = try? HTTPHeaders([(name, joined.trimmingCharacters(in: .whitespaces))])
  check(again?.elements(of: name) == elements, "The elements of the joined value are others.")
}

private func checkEquality(_ headers: HTTPHeaders) {
  var sorted = HTTPHeaders()
  for name in Set(headers.map { $0.name.lowercased() }) {
    for value in headers.values(for: name) {
      if let field = try? HTTPHeaders.Field(received: name.uppercased(), value) { sorted.add(field) }
    }
  }
  check(sorted == headers && sorted.hashValue == headers.hashValue, "The order of different names matters.")
}

/// A field of a response was received with these bytes, apart from the blanks around its value, and has no control character.
private func checkReceived(_ fields: [(name: String, value: String)], _ request: HTTPRequest) {
  guard var receiver = try? ResponseReceiver(for: request, maximumSize: 10),
    (try? receiver.receiveHead(.ok, fields)) != nil, let response = try? receiver.finish()
  else { return }
  checkEquality(response.headers)
  for field in response.headers {
    let bytes = field.value.utf8
    check(!bytes.contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }, "A received value has a control character.")
    let isReceived = fields.contains { name, value in
      guard name == field.name, value.utf8.count >= bytes.count else { return false }
      let blanks = value.utf8.prefix { $0 == 0x20 || $0 == 0x09 }.count
      let rest = value.utf8.dropFirst(blanks)
      return rest.starts(with: bytes) && rest.dropFirst(bytes.count).allSatisfy { $0 == 0x20 || $0 == 0x09 }
    }
    check(isReceived, "A field of the response was not received.")
  }
}

private func checkContentType(_ type: String) {
  guard (try? HTTPBody.data(Data(), contentType: type).checkContentType()) != nil else { return }
  check((try? HTTPHeaders.Field("Content-Type", type)) != nil, "A content type is no value of a field.")
  check(type.contains("/"), "A content type has no subtype.")
}

/// The description of a decoding error neither crashes nor shows more than it states, for any response.
private func checkDecoding(_ bytes: [UInt8], _ request: HTTPRequest) {
  let response = HTTPResponse(to: request, status: .ok, body: Data(bytes))
  guard case .failure(let error)? = Future.succeeded(response).decoded(as: [String: [Bool]].self).outcomeIfCompleted
  else { return }
  check((error as? HTTPError)?.code == .undecodableBody, "The error is another.")
  check(!"\(error)".contains(where: \.isNewline), "An error spans lines.")
}

/// The readers of a body and of its fields neither crash nor lead to another directory, for any response.
private func checkText(_ bytes: [UInt8], _ type: String, _ request: HTTPRequest) {
  var headers = HTTPHeaders()
  for (name, value) in [("Content-Type", type), ("Content-Disposition", String(decoding: bytes, as: UTF8.self))] {
    if let field = try? HTTPHeaders.Field(received: name, value) { headers.add(field) }
  }
  let response = HTTPResponse(to: request, status: .ok, headers: headers, body: Data(bytes))
  do {
    check(try response.text.unicodeScalars.first != "\u{FEFF}" || bytes.count > 3, "A text begins with its mark.")
  } catch {
    check(error.code == .undecodableBody, "The error is another.")
  }
  if let name = response.suggestedFileName {
    check(!name.isEmpty && name.utf8.count <= 255, "A file name is empty or too long.")
    check(!name.contains { $0 == "/" || $0 == "\\" || $0.isNewline }, "A file name has a directory or a line.")
    check(name.first != "." && !name.utf8.contains(0), "A file name is hidden or has a NUL.")
  }
  guard let problem = try? JSONDecoder().decode(ProblemDetails.self, from: Data(bytes)) else { return }
  check(!"\(problem)".contains(where: \.isNewline), "A problem spans lines.")
}
