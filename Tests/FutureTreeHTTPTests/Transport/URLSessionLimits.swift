import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTransportTesting
import HTTPTestSupport

/// The limits of `URLSession`, and the fields that it adds. Another process of the tests cannot capture them, so they are static.
enum URLSessionLimits {
  static let conformance = TransportConformance(
    "URLSessionLoader", limits: limits, addedFields: ["Accept", "Accept-Encoding", "Accept-Language", "User-Agent"],
    timeLimit: .seconds(600)
  ) { URLSessionLoader(.patient) }

  #if canImport(FoundationNetworking)
    static let limits: [TransportConformance.Limit] = [
      .init(.cutFields, "A fatal error of Foundation, at once (*Cut head* in the article).", endsProcess: true),
      .init(.trailers, "A fatal error of Foundation, at once (*Trailers* in the article).", endsProcess: true),
      .init(
        .headerOrder, "Fields are joined by name, with commas, and their order is lost (*Fields* in the article).",
        faultText: "sent: "),
      .init(
        .methodCase, "Known methods are sent in upper case (*Methods* in the article).", faultText: "was sent as"),
      .init(
        .chunkSuffixes, "libcurl ignores the rest of the line after the size of a chunk. The body is whole.",
        faultText: "got status 200 with 2 bytes"),
      .init(
        .fieldCase, "One of two fields whose names differ in case is lost (*Fields* in the article).",
        faultText: "one of two fields was lost"),
      .init(
        .latinFields, "A byte that is not UTF-8 ends the transfer (*Bytes of the head* in the article).",
        faultText: "invalidResponse"),
      .init(
        .unknownEncodings, "libcurl refuses the body (*Encoded bodies* in the article).", faultText: "encodedBody"),
    ]
  #else
    static let limits: [TransportConformance.Limit] = [
      .init(.headerOrder, "Fields are joined by name, with commas, and their order is lost.", faultText: "sent: ")
    ]
  #endif
}
