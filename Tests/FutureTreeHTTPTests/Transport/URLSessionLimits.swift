import FutureTreeHTTP
import FutureTreeHTTPTesting

/// The limits of `URLSession`, and the fields that it adds. Another process of the tests cannot capture them, so they are static.
enum URLSessionLimits {
  static let conformance = TransportConformance(
    "URLSessionLoader", limits: limits, addedFields: ["Accept", "Accept-Encoding", "Accept-Language", "User-Agent"],
    timeLimit: .seconds(600)
  ) { URLSessionLoader(.patient) }

  #if canImport(FoundationNetworking)
    static let limits: [TransportConformance.Limit] = [
      .init(.cutFields, "A fatal error of Foundation, at once (row 29 of the article).", endsProcess: true),
      .init(.trailers, "A fatal error of Foundation, at once (row 34 of the article).", endsProcess: true),
      .init(
        .headerOrder, "Fields are joined by name, with commas, and their order is lost (row 15 of the article).",
        faultText: "sent: "),
      .init(
        .methodCase, "Known methods are sent in upper case (row 16 of the article).", faultText: "was sent as"),
      .init(
        .chunkSuffixes, "libcurl ignores the rest of the line after the size of a chunk. The body is whole.",
        faultText: "got status 200 with 2 bytes"),
      .init(
        .fieldCase, "One of two fields whose names differ in case is lost (row 15 of the article).",
        faultText: "one of two fields was lost"),
      .init(
        .latinFields, "A byte that is not UTF-8 ends the transfer (row 36 of the article).",
        faultText: "invalidResponse"),
      .init(
        .unknownEncodings, "libcurl refuses the body (row 9 of the article).", faultText: "encodedBody"),
    ]
  #else
    static let limits: [TransportConformance.Limit] = [
      .init(.headerOrder, "Fields are joined by name, with commas, and their order is lost.", faultText: "sent: ")
    ]
  #endif
}
