#if os(Linux)
  internal import CCurl
  import Foundation

  /// An easy handle of libcurl: the options of one transfer, and its result.
  ///
  /// Each transfer has a new handle, which costs about 1 µs. libcurl before 8.1.0 reads and changes freed memory if a handle is used
  /// again and the head of a response begins with the continuation of a field.
  ///
  /// # Invariants
  /// 1. `easy` and the buffer of the error text are valid from `init` to `deinit`. The handle is in no multi handle at `deinit`.
  /// 2. libcurl has an unretained pointer to the owner. The engine retains the owner while the handle is in the multi handle, and
  ///    libcurl calls the owner only then.
  /// 3. libcurl does not copy the list of fields and the list of addresses. They live as long as `easy`.
  /// 4. The callbacks convert pointers to buffers of the size that libcurl passes. No buffer outlives its call.
  final class CurlHandle {
    enum Sent {
      case bytes(Int)
      /// No bytes are there yet: `resume` continues.
      case pause
      case stop
    }

    struct Option {
      static let writeData: Int32 = 10001, url: Int32 = 10002, proxy: Int32 = 10004, readData: Int32 = 10009
      static let errorBuffer: Int32 = 10010, copiedPostFields: Int32 = 10165, httpHeader: Int32 = 10023
      static let sslCertificate: Int32 = 10025, keyPassword: Int32 = 10026, headerData: Int32 = 10029
      static let customRequest: Int32 = 10036, certificateFile: Int32 = 10065, sslKey: Int32 = 10087
      static let certificatePath: Int32 = 10097, openSocketData: Int32 = 10164, seekData: Int32 = 10168
      static let hostsWithoutProxy: Int32 = 10177, proxyUser: Int32 = 10175, proxyPassword: Int32 = 10176,
        resolve: Int32 = 10203
      static let closeSocketData: Int32 = 10209, pinnedKey: Int32 = 10230, unixSocket: Int32 = 10231
      static let requestTarget: Int32 = 10266, beforeRequestData: Int32 = 10313
      static let noBody: Int32 = 44, upload: Int32 = 46, post: Int32 = 47, httpGet: Int32 = 80, sslVersion: Int32 = 32
      static let freshConnection: Int32 = 74, forbidsReuse: Int32 = 75, httpVersion: Int32 = 84
      static let cacheLifetimeOfNames: Int32 = 92
      static let bufferSize: Int32 = 98, noSignal: Int32 = 99
      static let connectTimeout: Int32 = 156, transferDecoding: Int32 = 157, protocols: Int32 = 181
      static let expectTimeout: Int32 = 227
      static let pathAsIs: Int32 = 234, waitsForMultiplexing: Int32 = 237, suppressesConnectHeaders: Int32 = 265
      static let http09: Int32 = 285, quickExit: Int32 = 322, postSize: Int32 = 30120, uploadSize: Int32 = 30115
      static let writeFunction: Int32 = 20011, readFunction: Int32 = 20012, headerFunction: Int32 = 20079
      static let openSocketFunction: Int32 = 20163, seekFunction: Int32 = 20167, closeSocketFunction: Int32 = 20208
      static let beforeRequestFunction: Int32 = 20312, trailerFunction: Int32 = 20283, trailerData: Int32 = 10284
      static let rootsData: Int32 = 40309
    }

    struct Information {
      static let requestSize: Int32 = 0x20_000C, connectionCount: Int32 = 0x20_001A, httpVersion: Int32 = 0x20_002E
      static let peer: Int32 = 0x10_0020, peerPort: Int32 = 0x20_0028
      static let connect: Int32 = 0x60_0034, beforeSending: Int32 = 0x60_0035
      static let firstByte: Int32 = 0x60_0036, total: Int32 = 0x60_0032, secured: Int32 = 0x60_0038
    }

    let easy: OpaquePointer
    private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: 256)
    private var fields: UnsafeMutablePointer<CCurlList>?
    private var addresses: UnsafeMutablePointer<CCurlList>?

    /// - Returns: `nil` if there is no memory.
    init?() {
      guard let easy = ccurl_easy_create() else {
        errorText.deallocate()
        return nil
      }
      self.easy = easy
      errorText[0] = 0
    }

    deinit {
      ccurl_easy_destroy(easy)
      ccurl_list_destroy(fields)
      ccurl_list_destroy(addresses)
      errorText.deallocate()
    }

    /// Sets the callbacks, which call the owner.
    func call(_ owner: CurlTransfer, reportsRequests: Bool) {
      let pointer = Unmanaged.passUnretained(owner).toOpaque()
      ccurl_easy_set_pointer(easy, Option.errorBuffer, errorText)
      for option in [
        Option.writeData, Option.headerData, Option.readData, Option.seekData, Option.openSocketData,
      ] {
        ccurl_easy_set_pointer(easy, option, pointer)
      }
      ccurl_easy_set_bytes(easy, Option.writeFunction) { bytes, size, count, owner in
        CurlHandle.owner(owner).received(UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
      }
      ccurl_easy_set_bytes(easy, Option.headerFunction) { bytes, size, count, owner in
        CurlHandle.owner(owner).receivedLine(UnsafeRawBufferPointer(start: bytes, count: size * count))
          ? size * count : 0
      }
      ccurl_easy_set_bytes(easy, Option.readFunction) { bytes, size, count, owner in
        switch CurlHandle.owner(owner).send(into: UnsafeMutableRawBufferPointer(start: bytes, count: size * count)) {
        case .bytes(let count): count
        case .pause: 0x1000_0001
        case .stop: 0x1000_0000
        }
      }
      ccurl_easy_set_seek(easy, Option.seekFunction) { owner, offset, origin in
        offset == 0 && origin == 0 && CurlHandle.owner(owner).rewind() ? 0 : 1
      }
      ccurl_easy_set_open_socket(easy, Option.openSocketFunction) { owner, _, address in
        let owner = CurlHandle.owner(owner)
        guard let address, owner.beforeConnection() else { return -1 }
        let type = address.pointee.type | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.pointee.family, type, address.pointee.`protocol`)
        if descriptor >= 0 { owner.openedSocket(descriptor) }
        return descriptor
      }
      if reportsRequests {
        ccurl_easy_set_pointer(easy, Option.beforeRequestData, pointer)
        ccurl_easy_set_before_request(easy, Option.beforeRequestFunction) { owner, peer, _, _, _ in
          CurlHandle.owner(owner).beforeRequest(to: peer.map { String(cString: $0) } ?? "") ? 0 : 1
        }
      }
    }

    /// Asks the owner for the lines after a body in chunks.
    func reportTrailers(of owner: CurlTransfer) {
      ccurl_easy_set_pointer(easy, Option.trailerData, Unmanaged.passUnretained(owner).toOpaque())
      ccurl_easy_set_trailers(easy, Option.trailerFunction) { list, owner in
        for line in CurlHandle.owner(owner).trailers {
          guard let next = ccurl_list_append(list?.pointee, line) else { return 1 }
          list?.pointee = next
        }
        return 0
      }
    }

    /// Calls a function when a socket of this handle is closed. The connection can outlive the transfer, so the pointer is that of the
    /// engine.
    func setCloseSocket(_ function: @escaping CCurlCloseSocket, _ pointer: UnsafeMutableRawPointer) {
      ccurl_easy_set_pointer(easy, Option.closeSocketData, pointer)
      ccurl_easy_set_close_socket(easy, Option.closeSocketFunction, function)
    }

    private static func owner(_ pointer: UnsafeMutableRawPointer?) -> CurlTransfer {
      Unmanaged<CurlTransfer>.fromOpaque(pointer!).takeUnretainedValue()
    }

    // MARK: - Options

    func set(_ option: Int32, _ value: Int) { ccurl_easy_set_number(easy, option, value) }
    func set(_ option: Int32, _ value: Bool) { ccurl_easy_set_number(easy, option, value ? 1 : 0) }
    func set(_ option: Int32, size: Int) { ccurl_easy_set_size(easy, option, Int64(size)) }
    /// Sets a text, which libcurl copies. `nil` removes it.
    func set(_ option: Int32, _ text: String?) { ccurl_easy_set_pointer(easy, option, text) }
    func set(_ option: Int32, _ data: Data) -> Bool {
      data.withUnsafeBytes { ccurl_easy_set_blob(easy, option, $0.baseAddress, $0.count) } == 0
    }

    func addField(_ line: String) { fields = ccurl_list_append(fields, line) }
    func addAddress(_ line: String) { addresses = ccurl_list_append(addresses, line) }
    /// Passes the lists to libcurl.
    func setLists() {
      ccurl_easy_set_pointer(easy, Option.httpHeader, fields)
      ccurl_easy_set_pointer(easy, Option.resolve, addresses)
    }

    /// Pauses both directions, or ends the pauses of both.
    func pause(_ isPaused: Bool) { ccurl_easy_pause(easy, isPaused ? 1 | 4 : 0) }

    // MARK: - Results

    func number(_ information: Int32) -> Int {
      var value = 0
      return ccurl_easy_get_number(easy, information, &value) == 0 ? value : 0
    }

    func microseconds(_ information: Int32) -> Duration {
      var value: Int64 = 0
      return ccurl_easy_get_size(easy, information, &value) == 0 ? .microseconds(value) : .zero
    }

    func text(_ information: Int32) -> String? {
      var value: UnsafePointer<CChar>?
      guard ccurl_easy_get_text(easy, information, &value) == 0, let value else { return nil }
      return String(cString: value)
    }

    /// The text of libcurl for a result.
    func faultText(_ result: Int32) -> String {
      errorText[0] == 0 ? String(cString: ccurl_easy_text(result)) : String(cString: errorText)
    }
  }

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
