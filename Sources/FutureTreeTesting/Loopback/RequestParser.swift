/// Takes requests out of the bytes of a connection (RFC 9112). A value: fed with bytes, asked for requests.
struct RequestParser {
  struct Message: Equatable {
    var method = ""
    var target = ""
    var headers: [LoopbackRequest.Field] = []
    var body: [UInt8] = []

    func values(for name: String) -> [String] {
      headers.filter { $0.name.lowercased() == name }.map(\.value)
    }
  }

  enum Event: Equatable {
    case request(Message)
    /// The client waits for permission to send the body.
    case expectsContinue
    /// Not a request, and why. Nothing comes after it.
    case refused(String)
  }

  private enum Phase {
    case head
    case body(Message, length: Int)
    case chunkSize(Message)
    case chunk(Message, length: Int)
    case trailer(Message)
    case refused
  }

  private static let maximumHead = 1 << 20

  private var phase = Phase.head
  private var bytes: [UInt8] = []

  mutating func feed(_ new: some Sequence<UInt8>) {
    bytes += new
  }

  /// The next event, or nil if more bytes are needed.
  mutating func next() -> Event? {
    while true {
      switch phase {
      case .head:
        return parseHead()
      case .body(var message, let length):
        guard bytes.count >= length else { return nil }
        message.body = take(length)
        return finish(message)
      case .chunkSize(let message):
        guard let line = takeLine() else { return nil }
        guard let length = Int(line.prefix { $0 != ";" }.filter { $0 != " " }, radix: 16), length >= 0 else {
          return refuse("a chunk without a size")
        }
        phase = length == 0 ? .trailer(message) : .chunk(message, length: length)
      case .chunk(var message, let length):
        guard bytes.count >= length + 2 else { return nil }
        message.body += take(length)
        _ = take(2)
        phase = .chunkSize(message)
      case .trailer(let message):
        guard let line = takeLine() else { return nil }
        if line.isEmpty { return finish(message) }
      case .refused:
        return nil
      }
    }
  }

  private mutating func parseHead() -> Event? {
    guard let end = endOfHead() else {
      return bytes.count > RequestParser.maximumHead ? refuse("a head of more than 1 MiB") : nil
    }
    let lines = String(decoding: take(end), as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: true)
    let words = lines.first?.split(separator: " ", omittingEmptySubsequences: false) ?? []
    guard words.count == 3, words[2].hasPrefix("HTTP/1.") else { return refuse("no request line") }
    var message = Message(method: String(words[0]), target: String(words[1]))
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { return refuse("a header field without a colon") }
      let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
      message.headers.append(LoopbackRequest.Field(name: String(line[..<colon]), value: String(value)))
    }
    return begin(message)
  }

  private mutating func begin(_ message: Message) -> Event? {
    let expectsContinue = message.values(for: "expect").contains { $0.lowercased() == "100-continue" }
    if message.values(for: "transfer-encoding").contains(where: { $0.lowercased().hasSuffix("chunked") }) {
      phase = .chunkSize(message)
    } else if let text = message.values(for: "content-length").first {
      guard let length = Int(text), length >= 0 else { return refuse("a Content-Length that is no number") }
      phase = .body(message, length: length)
    } else {
      return finish(message)
    }
    return expectsContinue ? .expectsContinue : next()
  }

  private mutating func finish(_ message: Message) -> Event {
    phase = .head
    return .request(message)
  }

  private mutating func refuse(_ fault: String) -> Event {
    phase = .refused
    bytes = []
    return .refused(fault)
  }

  private func endOfHead() -> Int? {
    guard bytes.count >= 4 else { return nil }
    return (0...(bytes.count - 4)).first { bytes[$0..<($0 + 4)].elementsEqual([0x0D, 0x0A, 0x0D, 0x0A]) }.map { $0 + 4 }
  }

  private mutating func takeLine() -> String? {
    guard let end = bytes.indices.dropLast().first(where: { bytes[$0] == 0x0D && bytes[$0 + 1] == 0x0A }) else {
      return nil
    }
    return String(decoding: take(end + 2).dropLast(2), as: UTF8.self)
  }

  private mutating func take(_ count: Int) -> [UInt8] {
    defer { bytes.removeFirst(count) }
    return Array(bytes.prefix(count))
  }
}
