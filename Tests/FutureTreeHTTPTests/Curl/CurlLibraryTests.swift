#if os(Linux)
  import TestSupport
  import Testing

  @testable import FutureTreeHTTP

  @Suite("CurlLoader: the library") struct CurlLibraryTests {
    @Test("The library of this process is found, and its version is read")
    func found() throws {
      let library = try CurlLibrary.shared.get()

      #expect(library.version.hasPrefix("7.") || library.version.hasPrefix("8."))
      #expect(library.isAtLeast(7, 76))
    }

    @Test("A version that is too old is an error with the remedy")
    func version() throws {
      let newer = try CurlLibrary(version: "8.5.0", number: 0x08_05_00)
      #expect(newer.isAtLeast(8, 5) && newer.isAtLeast(7, 88) && !newer.isAtLeast(8, 6))
      #expect(throws: Never.self) { try CurlLibrary(version: "7.76.0", number: 0x07_4C_00) }

      let error = #expect(throws: HTTPError.self) { try CurlLibrary(version: "7.75.0", number: 0x07_4B_00) }
      expectEqual(error?.message.contains("libcurl 7.75.0 is older than 7.76. Install libcurl 7.76 or later"), true)
    }
  }
#endif
