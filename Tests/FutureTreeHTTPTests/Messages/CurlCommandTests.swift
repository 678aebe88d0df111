import Foundation
import FutureTreeHTTP
import HTTPTestSupport
import TestSupport
import Testing

@Suite("A curl command as a request") struct CurlCommandTests {
  /// The method, the URL, the fields and the body.
  private func read(_ command: String) throws -> String {
    let request = try HTTPRequest(curl: command)
    let fields = request.headers.map { "\($0.name): \($0.value)" }
    let body =
      switch request.body.content {
      case .empty: ""
      case .data(let data): " | \(request.body.contentType ?? "-") | \(String(decoding: data, as: UTF8.self))"
      case .file(let url): " | \(request.body.contentType ?? "-") | @\(url.path)"
      case .stream: " | stream"
      }
    return ([request.method.name, request.url?.absoluteString ?? "-"] + fields).joined(separator: " | ") + body
  }

  private let form = "application/x-www-form-urlencoded"

  @Test("A command of the documentation of an API is read")
  func documented() throws {
    try expectEqual(read("curl https://example.com/feed"), "GET | https://example.com/feed")
    try expectEqual(read("curl example.com/feed?page=2"), "GET | http://example.com/feed?page=2")
    try expectEqual(read("curl -I -- 'https://example.com/'"), "HEAD | https://example.com/")
    try expectEqual(
      read(#"curl -X DELETE -u ada:pass "https://example.com/users/1""#),
      "DELETE | https://example.com/users/1 | Authorization: Basic YWRhOnBhc3M=")
    try expectEqual(
      read(
        """
        curl https://example.com/charges \\
          -u key: \\
          -d amount=2000 -d "currency=usd" \\
          --data-urlencode 'note=a & b' --data-urlencode =c/d --data-urlencode 'é'
        """),
      "POST | https://example.com/charges | Authorization: Basic a2V5Og== | \(form) | "
        + "amount=2000&currency=usd&note=a%20%26%20b&c%2Fd&%C3%A9")
    try expectEqual(
      read(#"curl --oauth2-bearer abc --json '{"a":' --json '1}' https://example.com/"#),
      "POST | https://example.com/ | Authorization: Bearer abc | Accept: application/json | application/json | "
        + #"{"a":1}"#)
    try expectEqual(read("curl -G -d a=1 -d b=2 https://example.com/?c=3"), "GET | https://example.com/?c=3&a=1&b=2")
    try expectEqual(read("curl -Gd a=1 https://example.com/"), "GET | https://example.com/?a=1")
    try expectEqual(
      read("curl --data-binary @notes/a.txt -H 'Content-Type: text/plain' -XPUT https://example.com/").replacing(
        FileManager.default.currentDirectoryPath, with: "."),
      "PUT | https://example.com/ | Content-Type: text/plain | text/plain | @./notes/a.txt")
    try expectEqual(HTTPRequest(curl: "curl -m 2.5 https://example.com/").timeout, .seconds(2.5))
  }

  @Test("A command that a browser copies is read, without the fields that the transport sets")
  func copied() throws {
    let command = #"""
      curl 'https://example.com/search' \
        -X 'POST' \
        -H 'Host: example.com' -H 'Connection: keep-alive' -H 'Content-Length: 12' \
        -H 'Accept-Encoding: gzip, deflate, br, zstd' \
        -H 'Accept-Language: en;q=0.5' \
        -H 'Content-Type: application/json' \
        -b 'a=1; b=2' -b c=3 \
        --data-raw $'{"q":"it\'s \u0021\x41\101\n"}' \
        --compressed -sS -L -o /dev/null -w '%{http_code}'
      """#

    try expectEqual(
      read(command),
      "POST | https://example.com/search | Accept-Language: en;q=0.5 | Content-Type: application/json | "
        + "Cookie: a=1; b=2; c=3 | application/json | {\"q\":\"it's !AA\n\"}")
    try expectEqual(
      read(
        "curl https://example.com:8443/ -H 'Host: EXAMPLE.com:8443' -H 'Accept-Encoding: br' -H 'X-A;' -H 'User-Agent:'"
      ),
      "GET | https://example.com:8443/ | Accept-Encoding: br | X-A: ")
  }

  @Test("A form has its texts and files")
  func forms() async throws {
    let folder = try Folder()
    let file = try folder.write("jpeg", to: "a b.jpg").path
    let photo = "'photo=@\(file);type=image/jpeg;filename=c.jpg'"

    let request = try HTTPRequest(
      curl: "curl https://example.com/ -F title=Sea -F \(photo) -F 'raw=@\(file)' --form-string 'at=@x'")

    var data = Data()
    for try await chunk in request.body.chunks() { data += chunk }
    let text = String(decoding: data, as: UTF8.self)
    expectEqual(request.method, .post)
    for part in [
      "name=\"title\"\r\n\r\nSea\r\n", "name=\"at\"\r\n\r\n@x\r\n",
      "name=\"photo\"; filename=\"c.jpg\"\r\nContent-Type: image/jpeg\r\n\r\njpeg\r\n",
      "name=\"raw\"; filename=\"a b.jpg\"\r\nContent-Type: application/octet-stream\r\n\r\njpeg\r\n",
    ] { #expect(text.contains(part)) }
    withExtendedLifetime(folder) {}
  }

  @Test(
    "Words are those of a POSIX shell",
    arguments: [
      (#"a\ b'c'"d""#, "a bcd"), (#"'it'\''s'"#, "it's"), (#""\$\`\"\\\a""#, #"$`"\\a"#),
      ("'$(x) `y` ${z} !!'", "$(x) `y` ${z} !!"),
      ("\"a\\\nb\"", "ab"), ("a$", "a$"), (#""$ ""#, "$ "), (#"$'\e[0m\t\\\''"#, "\u{1B}[0m\t\\'"),
      (#"$'\U0001F600'"#, "😀"),
      ("''", ""), ("a#b~*?", "a#b~*?"), ("'é'", "é"),
    ])
  func words(word: String, value: String) throws {
    let request = try HTTPRequest(curl: "curl\thttps://example.com/ --data-raw \(word) \r\n")

    guard case .data(let data) = request.body.content else { throw Oops() }
    expectEqual(String(decoding: data, as: UTF8.self), value)
  }

  /// The commands have § where the test puts a secret, so that no name of a test case shows one.
  static let refusals = [
    ("", "word curl"), ("wget https://example.com/", "word curl"), ("curl", "no URL"),
    ("curl -X", "ends after the option -X"),
    ("curl a b", "two URLs"), ("curl https://a/?a=§&b", "character &"),
    ("curl 'https://a", "quote that does not end"),
    ("curl \"https://a", "quote that does not end"), ("curl $'https://a", "quote that does not end"),
    ("curl https://a -H \"Authorization: Bearer $TOKEN\"", "shell would replace"),
    ("curl `§`", "shell would replace"),
    ("curl $(cat §)", "shell would replace"), ("curl a # §", "comment"),
    ("curl a\ncurl b", "line break"),
    ("curl a > §", "character >"), ("cat a | curl b", "pipe"), ("curl a | curl b | jq", "pipe"),
    ("printf '%s' § | curl a --data-binary @-", "printf"), ("printf '\\8' | curl a -d @-", "printf"),
    ("curl -k https://a", "option -k"), ("curl --proxy § https://a", "option --proxy"),
    ("curl --§=1 https://a", "option -…"), ("curl -d @§ a", "file after -d"),
    ("curl -b § a", "file after -b"), ("curl -H @§ a", "file after -H"),
    ("curl -H § a", "colon"),
    ("curl -u § a", "without a password"), ("curl -m § a", "number of seconds"),
    ("curl -m 0 a", "number"),
    ("curl -d a --data-binary @b c", "two kinds"), ("curl -F a=b -d c d", "two kinds"),
    ("curl -F § a", "without a name"),
    ("curl -F 'a=<§' b", "file after -F"), ("curl -F 'a=@b;§' c", "attribute"),
    ("curl -d a --data-binary @- b", "standard input"), ("curl -G -F a=b c", "as its query"),
    ("curl --data-urlencode a@§ b", "file after --data-urlencode"),
    ("curl 'https://a/{§,b}'", "braces"),
    ("curl 'https://a/[1-3]'", "brackets"), (#"curl $'\q' a"#, "no character"), (#"curl $'\uD800' a"#, "no character"),
    (#"curl $'\x' a"#, "no character"),
  ]

  @Test("What a request cannot carry, and what a shell would replace, is an error without a value", arguments: refusals)
  func refused(command: String, fault: String) {
    let secret = command.replacing("§", with: sentinel)
    let error = #expect(throws: HTTPError.self) { try HTTPRequest(curl: secret) }

    expectEqual(error?.code, .invalidCommand)
    expectEqual(error?.message.contains(fault), true)
    expectEqual(error?.message.contains(sentinel), false)
  }

  @Test("Errors of the parts are those of a request")
  func parts() {
    for (command, code) in [
      ("curl -X 'a b' https://a", HTTPError.Code.invalidMethod), ("curl ftp://a", .invalidURL),
      ("curl a -H 'Host: b'", .forbiddenHeader), ("curl a -H 'a b: c'", .invalidHeaderName),
      ("curl a -F 'a=@b;type=c'", .invalidHeaderValue),
    ] {
      let error = #expect(throws: HTTPError.self) { try HTTPRequest(curl: command) }
      expectEqual(error?.code, code)
    }
  }

  @Test("Addresses in brackets are no pattern, and patterns are read with --globoff")
  func brackets() throws {
    try expectEqual(read("curl http://[::1]:80/a"), "GET | http://[::1]:80/a")
    try expectEqual(read("curl -g 'https://a/?b[]=1'"), "GET | https://a/?b%5B%5D=1")
  }

  @Test("A printed request is read again as it was")
  func printed() throws {
    var request = try HTTPRequest(.put, "https://example.com/~a/$(x)/!'*;(-)@?a=$HOME&b='c'&d[]=!")
    try request.setHeader("X-Quote", "it's \"$HOME\" `x` \\")
    try request.setHeader("X-Empty", "")
    for body in [
      .empty, HTTPBody.data(Data("it's\n$(x) 😀".utf8), contentType: "text/plain"), .data(Data(0...255)),
      .data(Data("-n%".utf8), contentType: "a/b"), .file(URL(fileURLWithPath: "/a b/'c'"), contentType: "text/plain"),
    ] {
      request.body = body
      let command = request.curl(redacting: .nothing)

      let again = try HTTPRequest(curl: command)

      expectEqual(again.curl(redacting: .nothing), command)
      expectEqual(again.url, request.url)
      if case .data(let data) = body.content, case .data(let read) = again.body.content { expectEqual(read, data) }
    }
  }

  @Test("A long command is read in linear time")
  func long() throws {
    let data = String(repeating: "a\\b\"c\"'d'", count: 100_000)
    let many = String(repeating: " -d a", count: 100_000)

    try expectEqual(HTTPRequest(curl: "curl a --data-raw \(data)").body.contentLength, 400_000)
    try expectEqual(HTTPRequest(curl: "curl a" + many).body.contentLength, 199_999)
  }
}
