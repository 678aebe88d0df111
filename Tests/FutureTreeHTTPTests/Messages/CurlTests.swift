import Foundation
import FutureTreeHTTP
import HTTPTestSupport
import TestSupport
import Testing

@Suite("A request as a curl command")
struct CurlTests {
  @Test("Method, header fields and URL are in the command, each as one word")
  func plain() throws {
    var request = try HTTPRequest(.delete, "https://example.com/feed")
    try request.setHeader("Accept", "text/plain; q='1'")

    #expect(
      request.curl()
        == #"curl --request 'DELETE' --header 'Accept: text/plain; q='\''1'\''' --url 'https://example.com/feed'"#)
    #expect(try HTTPRequest("https://example.com/").curl() == "curl --url 'https://example.com/'")
    #expect(try HTTPRequest(.head, "https://example.com/").curl() == "curl --head --url 'https://example.com/'")
    try expectEqual(HTTPRequest(.get, path: "users/1?a=b").curl(), "curl --url 'users/1?a=REDACTED'")
  }

  @Test("Header values, query values and the body are redacted by default")
  func redacted() throws {
    var request = try HTTPRequest(.post, "https://example.com/a?page=2&key=\(sentinel)&\(sentinel)&&=\(sentinel)")
    try request.setHeader("X-Unknown", sentinel)
    request.body = .data(Data("secret".utf8), contentType: "text/plain")

    #expect(
      request.curl()
        == "curl --request 'POST' --header 'X-Unknown: REDACTED' --header 'Content-Type: text/plain' "
        + "--data-raw 'REDACTED (6 bytes)' --url 'https://example.com/a?page=REDACTED&key=REDACTED&REDACTED&&=REDACTED'"
    )
  }

  @Test("Header names are matched without case, and query names after decoding")
  func chosen() throws {
    var request = try HTTPRequest("https://example.com/?a%20b=1&a+b=2&A%20b=3&all")
    try request.setHeader("X-Plain", "1")
    try request.setHeader("Accept", "*/*")
    let redaction = Redaction(shownHeaders: HeaderNames(["x-plain"]), shownQueryItems: ["a b", "all"])

    #expect(
      request.curl(redacting: redaction)
        == "curl --header 'X-Plain: 1' --header 'Accept: REDACTED' "
        + "--url 'https://example.com/?a%20b=1&a+b=2&A%20b=REDACTED&all'")
  }

  @Test("A sensitive header is redacted even if its name is allowed, except with `.nothing`", arguments: [true, false])
  func sensitive(isKnown: Bool) throws {
    let name = isKnown ? "Authorization" : "Accept"
    var request = try HTTPRequest("https://example.com/")
    try request.setHeader(name, sentinel)
    if !isKnown { request.sensitiveHeaders.insert(name) }

    #expect(!request.curl(redacting: Redaction(shownHeaders: HeaderNames([name]))).contains(sentinel))
    #expect(request.curl(redacting: .nothing) == "curl --header '\(name): \(sentinel)' --url 'https://example.com/'")
  }

  @Test("A path begins with a slash even before a combining mark")
  func combiningMark() throws {
    var request = try HTTPRequest(.put, "https://example.com/")
    request.body = .file(URL(fileURLWithPath: "/\u{327}a"), contentType: "text/plain")

    #expect(request.curl(redacting: .nothing).contains("--data-binary '@/\u{327}a'"))
  }

  @Test("A file is named, a stream is standard input, and redaction hides both")
  func filesAndStreams() throws {
    var file = try HTTPRequest(.put, "https://example.com/")
    file.body = .file(URL(fileURLWithPath: "/home/\(sentinel)"), contentType: "text/plain")
    var stream = try HTTPRequest(.put, "https://example.com/")
    stream.body = .stream(length: 3, contentType: "text/plain") { throw Oops() }
    let front = "curl --request 'PUT' --header 'Content-Type: text/plain' "
    let back = " --url 'https://example.com/'"

    expectEqual(file.curl(), front + "--data-raw 'REDACTED'" + back)
    expectEqual(file.curl(redacting: .nothing), front + "--data-binary '@/home/\(sentinel)'" + back)
    expectEqual(stream.curl(), front + "--data-raw 'REDACTED (3 bytes)'" + back)
    expectEqual(stream.curl(redacting: .nothing), front + "--data-binary @-" + back)
  }

  @Test("A body that is not printable text is written in octal")
  func octal() throws {
    var request = try HTTPRequest(.put, "https://example.com/")
    request.body = .data(Data([0x2D, 0x00, 0x1B, 0x61, 0x25, 0x5C, 0x27, 0xFF]))

    #expect(
      request.curl(redacting: .nothing)
        == #"printf '\055\000\033a\045\134\047\377' | "#
        + "curl --request 'PUT' --header 'Content-Type: application/octet-stream' --data-binary @- "
        + "--url 'https://example.com/'")
  }

  @Test("An invalid content type is omitted, and a field without a value ends with a semicolon")
  func oddFields() throws {
    var request = try HTTPRequest(.post, "https://example.com/")
    request.body = .data(Data(), contentType: "a\nb")
    try request.setHeader("Accept", "")

    #expect(
      request.curl(redacting: .nothing)
        == "curl --request 'POST' --header 'Accept;' --data-raw '' --url 'https://example.com/'")
  }

  @Test("An address in brackets is not a pattern")
  func brackets() throws {
    #expect(try HTTPRequest("http://[::1]/").curl() == "curl --globoff --url 'http://[::1]/'")
  }
}

#if os(macOS) || os(Linux)
  /// A shell runs the command, with a function in place of `curl`.
  @Suite(
    "A shell reads a curl command as intended", .enabled(if: !Shell.all.isEmpty, "no /bin/sh here"))
  struct CurlRoundTripTests {
    private static let hostile = [
      "", " ", "'", "''", "it's", "\"", "\\", "\\'", "\\\\", "$(touch x)", "`touch x`", "${HOME}", "$HOME", "!!", "!x",
      "*",
      "~", "#", ";", "&", "|", ">x", "<x", "(", "-", "--", "-n", "-o x", "@", "@-", "@/etc/passwd", "%s%n", "\\0",
      "\\x41",
      "a\nb", "\n", "a\n\n", "'\n'", "e\u{301}", "😀", "\t",
    ]
    private static let hostileBodies: [Data] =
      hostile.map { Data($0.utf8) } + [
        Data([0]), Data([0, 0x31]), Data([0xFF, 0xFE]), Data("\u{1B}[31m'$(x)%s".utf8), Data("a\r\nb\r\n".utf8),
        Data("a\u{202E}b".utf8), Data(0...255), Data("-\0".utf8), Data("\\101\0".utf8),
      ]

    @Test("Any body is passed unchanged", arguments: Shell.all)
    func bodies(shell: Shell) throws {
      for body in CurlRoundTripTests.hostileBodies {
        var request = try HTTPRequest(.post, "https://example.com/a")
        request.body = .data(body, contentType: "text/plain")
        let command = request.curl(redacting: .nothing)

        let (arguments, input) = try shell.run(command)

        let front = ["--request", "POST", "--header", "Content-Type: text/plain"]
        let isPiped = command.hasPrefix("printf")
        let data = isPiped ? ["--data-binary", "@-"] : ["--data-raw", String(decoding: body, as: UTF8.self)]
        #expect(arguments == front + data + ["--url", "https://example.com/a"])
        expectEqual(input, (isPiped ? body : Data()))
      }
    }

    @Test("Any header field, URL, method and file path is passed unchanged", arguments: Shell.all)
    func heads(shell: Shell) throws {
      let url = "https://example.com/~a/$(x)/!'*;&(-)@?a=$HOME&b='c'&d=$(touch%20x)!"
      for text in CurlRoundTripTests.hostile {
        var request = try HTTPRequest(HTTPMethod("-X!'`$*~"), url)
        let hasField = (try? request.addHeader("-x'`!$*&|~", text)) != nil
        request.body = .file(URL(fileURLWithPath: "/" + text), contentType: "text/plain")
        let fields = [
          hasField ? text.isEmpty ? ["-x'`!$*&|~;"] : ["-x'`!$*&|~: " + text] : [], ["Content-Type: text/plain"],
        ]
        let path = URL(fileURLWithPath: "/" + text).path

        let (arguments, input) = try shell.run(request.curl(redacting: .nothing))

        var expected = ["--request", "-X!'`$*~"]
        for field in fields.joined() { expected += ["--header", field] }
        expected += ["--data-binary", "@" + path, "--url", url]
        expectEqual(arguments, expected)
        #expect(path.hasPrefix("/") && input.isEmpty)
      }
    }
  }
#endif
