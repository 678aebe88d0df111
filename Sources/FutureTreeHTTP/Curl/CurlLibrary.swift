#if os(Linux)
  internal import CCurl

  /// The libcurl of the process.
  struct CurlLibrary: Sendable {
    /// The version as libcurl writes it, such as `7.88.1`.
    let version: String
    private let number: UInt32

    /// The versions before this one lack functions that a transport needs.
    private static let minimum: UInt32 = 0x07_4C_00

    /// Whether the version is at least `major.minor.0`.
    func isAtLeast(_ major: UInt32, _ minor: UInt32) -> Bool { number >= major << 16 | minor << 8 }

    /// The library, or the error of each load. The library is searched once.
    static let shared = Result { () throws(HTTPError) in
      if let fault = ccurl_load() { throw CurlLibrary.fault("\(String(cString: fault)).") }
      return try CurlLibrary(version: String(cString: ccurl_version()), number: ccurl_version_number())
    }

    /// - Parameter number: The version with a byte for each of its parts.
    init(version: String, number: UInt32) throws(HTTPError) {
      self.version = version
      self.number = number
      guard number >= CurlLibrary.minimum else { throw CurlLibrary.fault("libcurl \(version) is older than 7.76.") }
    }

    private static func fault(_ text: String) -> HTTPError {
      HTTPError(
        .transportFailed,
        "\(text) Install libcurl 7.76 or later (the package `libcurl4` or `libcurl`), or use `URLSessionLoader`.")
    }
  }
#endif
