import Foundation
import FutureTreeHTTP

/// An accepted URL has one meaning: for this library, when it parses the URL again, and for the platform that sends the
/// request.
func fuzzURLs(_ bytes: [UInt8]) throws {
  var input = Input(bytes)
  let text = input.text()
  let reference = input.text()
  let base = try (try? HTTPURL(text)) ?? HTTPURL("http://a/b/c/d;p?q")
  checkMeaning(of: base)
  let received = try? base.resolving(received: reference)
  if let received { checkMeaning(of: received) }
  if let resolved = try? base.resolving(reference) {
    checkMeaning(of: resolved)
    // An international host is converted if a program wrote it, and refused if a server sent it.
    let isInternational = !reference.utf8.allSatisfy { $0 < 0x80 }
    check(
      received == resolved || isInternational && received == nil,
      "It is another URL if a server sent it: \(resolved)")
    check((try? base.resolving(resolved.absoluteString)) == resolved, "It resolves to something else: \(resolved)")
    if let path = try? HTTPPath(reference) { try checkPath(path, reference) }
  }
  try checkBuilding(base, segments: input.texts(), names: input.texts(), values: input.texts())
}

func checkMeaning(of url: HTTPURL) {
  let text = url.absoluteString
  check((try? HTTPURL(text)) == url, "It is another URL when it is read again: \(text)")
  check(text.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "It has bytes that no request line has.")
  checkSegments(url.path)
  guard let platform = URLComponents(string: text) else { fail("The platform does not read \(text)") }
  check(platform.scheme == url.scheme.rawValue, "The scheme is another: \(text)")
  check(platform.encodedHost == url.host, "The host is another: \(text)")
  check(platform.port == url.explicitPort.map(Int.init), "The port is another: \(text)")
  check(platform.percentEncodedPath == url.path, "The path is another: \(text)")
  check(platform.percentEncodedQuery == url.query, "The query is another: \(text)")
  check(platform.user == nil && platform.password == nil && platform.fragment == nil, "It has more parts: \(text)")
  check(URL(string: text)?.absoluteString == text, "The platform changes \(text)")
}

private func checkSegments(_ path: String) {
  check(path.hasPrefix("/"), "The path begins with no slash: \(path)")
  for segment in path.split(separator: "/") {
    check(![".", ".."].contains(segment.removingPercentEncoding), "The path has a dot segment: \(path)")
  }
}

/// A path never leads to another host or out of the prefix.
private func checkPath(_ path: HTTPPath, _ text: String) throws {
  let environment = try ServerEnvironment(host: "host.example", pathPrefix: "/pre/fix", query: [("k", "v")])
  let applied = try environment.applied(to: HTTPRequest(.get, path: path))
  guard let url = applied.url else { fail("There is no URL.") }
  checkMeaning(of: url)
  check(url.host == "host.example" && url.explicitPort == nil, "The path \(text) changed the host.")
  if !path.isAbsolute { check(url.path.hasPrefix("/pre/fix"), "The path \(text) leads out of the prefix: \(url.path)") }
  check(try environment.applied(to: applied).url == url, "A second application adds something.")
}

/// A URL that is built from components is parsed as the same components.
private func checkBuilding(_ base: HTTPURL, segments: [String], names: [String], values: [String]) throws {
  let items = NameValuePairs<String?>(names.enumerated().map { ($1, $0 < values.count ? values[$0] : nil) })
  let hasDots = segments.contains { [".", ".."].contains($0) }
  guard
    let url = try? HTTPURL(scheme: .http, host: base.host, port: base.explicitPort, path: segments, query: items)
  else { return check(hasDots, "The segments \(segments) were refused.") }
  check(!hasDots, "Dot segments were accepted.")
  checkMeaning(of: url)
  let read = url.path.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map {
    $0.removingPercentEncoding
  }
  check(read == (segments.isEmpty ? [""] : segments), "The segments \(segments) are read as \(read).")
  checkItems(url.query, items)

  let appended = try base.appending(path: segments).appending(query: items)
  checkMeaning(of: appended)
  check(appended.origin == base.origin, "Appending changed the origin.")
}

private func checkItems(_ query: String?, _ items: NameValuePairs<String?>) {
  guard !items.isEmpty else { return check(query == nil, "There is a query of no items.") }
  let read = (query ?? "").split(separator: "&", omittingEmptySubsequences: false).map { item in
    item.split(separator: "=", omittingEmptySubsequences: false).map { $0.removingPercentEncoding }
  }
  check(read == items.map { name, value in value.map { [name, $0] } ?? [name] }, "The items are read as \(read).")
}
