/// The framing that the headers of a response declare for its body (RFC 9112, section 6.3). Nothing is guessed.
enum BodyFraming {
  /// The body has this number of bytes.
  case declared(Int)
  /// The transport detects the end: the body is chunked, or ends with its connection.
  case undeclared
  /// The platform detects the end, because it decodes the body.
  case decoded
  /// The end of the body is ambiguous, or the body is encoded although that was not requested.
  case refused(HTTPError)

  init(_ headers: HTTPHeaders, _ decoding: ResponseReceiver.Decoding) {
    var (lengths, codings, contentEncodings): ([String], [String], [String]) = ([], [], [])
    for field in headers {
      if field.isNamed("Content-Length") {
        lengths.append(field.value)
      } else if field.isNamed("Transfer-Encoding") {
        codings.append(field.value)
      } else if field.isNamed("Content-Encoding") {
        contentEncodings.append(field.value)
      }
    }
    lengths = BodyFraming.elements(of: lengths)
    // An empty body has nothing to decode.
    let isEmpty = codings.isEmpty && !lengths.isEmpty && lengths.allSatisfy { $0 == "0" }
    let encodings = isEmpty ? [] : BodyFraming.decodedEncodings(contentEncodings, decoding)

    if let encoding = encodings.first(where: { !$0.isAccepted })?.name {
      self = .refused(BodyFraming.notAccepted(encoding, decoding))
    } else if !codings.isEmpty, !lengths.isEmpty {
      self = .refused(BodyFraming.ambiguous("both Content-Length and Transfer-Encoding"))
    } else if !codings.isEmpty, codings.map({ FieldSyntax.trimmed($0).lowercased() }) != ["chunked"] {
      self = .refused(BodyFraming.ambiguous("a Transfer-Encoding other than chunked"))
    } else if lengths.contains(where: { $0 != lengths[0] }) {
      self = .refused(BodyFraming.ambiguous("different values of Content-Length"))
    } else if !encodings.isEmpty {
      self = .decoded
    } else if let length = lengths.first {
      // `Int` also accepts a sign.
      let isSigned = length.utf8.first.map { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") } ?? true
      self =
        (isSigned ? nil : Int(length)).map { .declared($0) }
        ?? .refused(BodyFraming.ambiguous("a Content-Length that is not a number"))
    } else {
      self = .undeclared
    }
  }

  /// The encodings that platforms decode, even if a request does not ask for them.
  private static let decodable: Set = ["gzip", "x-gzip", "deflate", "br", "zstd"]

  /// Returns the encodings of a body that the platform has decoded or would decode. Returns none if no platform decodes any of
  /// them: such a body arrives as it was sent.
  private static func decodedEncodings(
    _ values: [String], _ decoding: ResponseReceiver.Decoding
  ) -> [(name: String, isAccepted: Bool)] {
    guard case .platform(let accepted) = decoding, !values.isEmpty else { return [] }
    let names = elements(of: values).map { $0.lowercased() }.filter { $0 != "identity" && !$0.isEmpty }
    guard names.contains(where: { decodable.contains($0) || accepted.contains($0) }) else { return [] }
    return names.map { ($0, accepted.contains($0)) }
  }

  /// Returns the names of codings that a decoder removes, in lower case. Returns none if one of them is not accepted: `init` then
  /// refuses the body, or leaves it as it was sent.
  static func acceptedCodings(_ values: [String], _ accepted: Set<String>) -> [String] {
    let encodings = decodedEncodings(values, .platform(accepting: accepted))
    return encodings.allSatisfy(\.isAccepted) ? encodings.map(\.name) : []
  }

  private static func notAccepted(_ encoding: String, _ decoding: ResponseReceiver.Decoding) -> HTTPError {
    let encoded = "The body is encoded (\(FieldSyntax.visible(encoding))), "
    guard case .platform(let accepted) = decoding, !accepted.isEmpty else {
      return HTTPError(
        .encodedBody,
        encoded
          + "and the loader accepts no encoded bodies. Set `acceptsEncodedBodies` in its configuration, or let the "
          + "server send the encoding `identity`.")
    }
    return HTTPError(
      .encodedBody,
      encoded
        + "and the loader accepts only \(accepted.sorted().joined(separator: ", ")). Request one of these, or the "
        + "encoding `identity`.")
  }

  /// Returns the elements of the lists that the values contain. Platforms join the fields of one name with commas.
  private static func elements(of values: [String]) -> [String] {
    guard values.contains(where: { $0.utf8.contains(UInt8(ascii: ",")) }) else {
      return values.map(FieldSyntax.trimmed)
    }
    return values.flatMap { value in
      value.split(separator: ",", omittingEmptySubsequences: false).map { FieldSyntax.trimmed(String($0)) }
    }
  }

  /// The fields that define the framing. If one of them has an invalid value, it is omitted from the headers, but the
  /// platform may have interpreted it.
  static let fields: Set = ["content-length", "transfer-encoding", "content-encoding"]

  static let omitted = BodyFraming.refused(ambiguous("a framing field with an invalid byte"))

  /// - Parameter fault: What the response has, such as "different values of Content-Length".
  static func ambiguous(_ fault: String) -> HTTPError {
    HTTPError(.ambiguousBody, "The response has \(fault), so the end of its body is unknown. Fix the server.")
  }
}
