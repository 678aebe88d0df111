#if os(Linux)
  import Foundation
  import FutureTree

  /// One request on the wire: it passes the events of libcurl to its exchange.
  ///
  /// # Invariants
  /// 1. Its variables are used on the thread of the engine only. Other threads use `stop()` and the constants.
  /// 2. The exchange gets one end, from `ended`: after the handle was removed from the multi handle, and, unless the response is
  ///    whole, after the source of the request's body was released.
  /// 3. Each sending of the request is counted. libcurl repeats a request whose reused connection was closed before the first byte of a
  ///    response: that is stopped for a method that is not idempotent (RFC 9110, section 9.2.2), and for a body that can be read once.
  /// 4. While the reader of a stream is behind, libcurl is paused, and the bytes that it still delivers are kept.
  final class CurlTransfer: @unchecked Sendable {  // Because: see invariant 1.
    let exchange: HTTPExchange
    private let url: HTTPURL
    private let engine: CurlEngine
    private let library: CurlLibrary
    private let proxy: CurlProxy?
    private let mayBeHTTP2: Bool
    /// Whether the request asks for the consent of the server. Before 7.80, libcurl repeats requests that it does not report: see
    /// `beforeRequest`.
    private let mayExpect: Bool
    /// The origin of the URL, if its limit of connections applies to the request. It does not apply to a request that may be HTTP/2, which
    /// can share a connection.
    let limitedOrigin: String?
    /// The place in the queue of the engine, while the request waits for a connection.
    var place: LimitedQueue<(CurlTransfer, [NameResolver.Found])>.Entry?

    /// The handle, while it is in the multi handle.
    var handle: CurlHandle?
    private unowned(unsafe) var loop: CurlLoop?
    private var head: ResponseHead
    private var chunked: ChunkedBody?
    private var decoder: BodyDecoder?
    private var upload: CurlUpload?
    /// The release of the sources of earlier sendings.
    private var released: [Future<Void>] = []
    /// The number of bytes before decoding that are declared and have not arrived. `nil` if it is not known.
    private var remaining: Int?
    /// An error that a callback found. libcurl then reports that the callback stopped it.
    private var fault: HTTPError?
    private var sendCount = 0
    private var sentSize = 0
    /// The room that the reader of a stream makes.
    private var room: Future<Void>?
    /// Bytes that arrived during a pause, and that the decoder does not have: libcurl delivers its whole buffer.
    private var kept = Data()
    /// The result of libcurl, while its last bytes wait for the reader.
    private var heldResult: (code: Int32, text: String)?
    private var isAnsweredEarly = false
    /// A head with the status 417, until its body begins. libcurl drops the body if it sends the request again.
    private var refusal: ResponseHead.Fields?
    /// Whether libcurl was kept from sending a request again whose expectation was refused.
    private var isRepetitionStopped = false
    /// Whether the server has answered without consent, so that the body is not sent.
    private var isBodyWithheld = false
    private var hasEnded = false
    private var facts: CurlExchangeFacts?
    /// When the loader was called, and when libcurl began, on the clock of the system.
    private let called = SystemClock().now
    private var started = Duration.zero

    init(
      _ exchange: HTTPExchange, _ url: HTTPURL, _ library: CurlLibrary, _ engine: CurlEngine
    ) {
      self.exchange = exchange
      self.url = url
      self.library = library
      self.engine = engine
      proxy = engine.settings.proxy(for: url)
      // libcurl stores what a paused stream of HTTP/2 receives, without a limit. Without TLS, nothing agrees on the version: a server
      // that says HTTP/2 over HTTP/1.1 would receive all requests at once.
      // With HTTP/2, it does not wait for consent, and sends no trailers.
      let request = exchange.request
      mayExpect =
        request.expectsContinue && !request.body.isEmpty && exchange.bodyLength != 0 && library.isAtLeast(7, 80)
      mayBeHTTP2 =
        engine.settings.allowsHTTP2 && url.scheme == .https && !request.delivery.isStream && !mayExpect
        && exchange.trailers == nil
      limitedOrigin = mayBeHTTP2 ? nil : url.origin
      head = ResponseHead(mayBeHTTP2: mayBeHTTP2)
    }

    /// Stops the request. Called on any thread.
    func stop() { engine.submit(.stop(self)) }

    /// Whether the transfer should begin or continue.
    var isWanted: Bool { exchange.isWanted }

    private var request: HTTPRequest { exchange.request }

    private var settings: CurlSettings { engine.settings }

    /// The names that must be looked up before the request begins.
    var names: [NameResolver.Name] {
      guard settings.unixSocketPath == nil else { return [] }
      var names = proxy.map { [NameResolver.Name(host: $0.host, port: $0.port)] } ?? []
      if proxy == nil || proxy?.isSOCKS == true { names.append(NameResolver.Name(host: url.host, port: url.port)) }
      return names.filter { !CurlTransfer.isAddress($0.host) }
    }

    private static func isAddress(_ host: String) -> Bool {
      host.hasPrefix("[") || host.utf8.allSatisfy { ASCII.isDigit($0) || $0 == UInt8(ascii: ".") }
    }

    // MARK: - Options

    /// Sets the options of the request.
    ///
    /// - Parameter isOneOfMany: Whether so many requests are in flight that each of them should need little memory.
    func configure(
      _ handle: CurlHandle, _ loop: CurlLoop, _ found: [NameResolver.Found], isOneOfMany: Bool
    ) throws(HTTPError) {
      typealias Option = CurlHandle.Option
      (self.handle, self.loop) = (handle, loop)
      started = SystemClock().now
      handle.call(self, reportsRequests: library.isAtLeast(7, 80))
      handle.set(Option.url, url.absoluteString)
      handle.set(Option.pathAsIs, true)
      // Some versions rewrite an empty query. A proxy for http needs the whole URL.
      if proxy == nil || url.scheme == .https || proxy?.isSOCKS == true {
        handle.set(Option.requestTarget, url.query.map { "\(url.path)?\($0)" } ?? url.path)
      }
      handle.set(Option.protocols, 3)  // http and https.
      handle.set(Option.noSignal, true)
      handle.set(Option.quickExit, true)
      handle.set(Option.http09, false)
      handle.set(Option.transferDecoding, false)  // `ChunkedBody` decides.
      handle.set(Option.suppressesConnectHeaders, true)
      handle.set(Option.connectTimeout, CurlTransfer.longTime)  // The exchange has the time limits.
      handle.set(Option.bufferSize, isOneOfMany ? 1 << 14 : 1 << 17)
      setNames(handle, found)
      setConnection(handle)
      try settings.security.apply(to: handle, library)
      try setMessage(handle)
      handle.setLists()
    }

    private func setNames(_ handle: CurlHandle, _ found: [NameResolver.Found]) {
      handle.set(CurlHandle.Option.cacheLifetimeOfNames, -1)  // `NameResolver` renews the addresses.
      for found in found {
        handle.addAddress("\(found.name.host):\(found.name.port):\(found.addresses.joined(separator: ","))")
      }
    }

    private func setConnection(_ handle: CurlHandle) {
      typealias Option = CurlHandle.Option
      if let path = settings.unixSocketPath { handle.set(Option.unixSocket, path) }
      switch proxy {
      case nil: handle.set(Option.proxy, "")
      case let proxy?:
        if let server = proxy.server {
          handle.set(Option.proxy, "\(proxy.isSOCKS ? "socks5" : "http")://\(proxy.name)")
          handle.set(Option.hostsWithoutProxy, "")  // Otherwise `no_proxy` of the environment applies.
          handle.set(Option.proxyUser, server.userName)
          handle.set(Option.proxyPassword, server.password)
        }
      }
      handle.set(Option.httpVersion, mayBeHTTP2 ? 4 : 2)  // 2 over TLS, or 1.1.
      handle.set(Option.waitsForMultiplexing, mayBeHTTP2)
      // Before 7.80, a repetition over another reused connection is not reported.
      if !library.isAtLeast(7, 80), !isIdempotent { handle.set(Option.freshConnection, true) }
    }

    private func setMessage(_ handle: CurlHandle) throws(HTTPError) {
      typealias Option = CurlHandle.Option
      let (method, body) = (request.method, request.body)
      var (hasAccept, hasType, hasEncoding) = (false, false, false)
      if expectsContinue { handle.addField("Expect: 100-continue") }  // The first field with the name applies.
      for field in request.headers {
        if field.isNamed("Accept") { hasAccept = true }
        if field.isNamed("Content-Type") { hasType = true }
        if field.isNamed("Accept-Encoding") { hasEncoding = true }
        handle.addField(field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")
      }
      // A name without a value removes a field that libcurl adds.
      if !hasAccept { handle.addField("Accept:") }
      if !hasEncoding { handle.addField("Accept-Encoding: \(settings.acceptEncoding)") }
      if !body.isEmpty {
        if !hasType, let type = body.contentType { handle.addField("Content-Type: \(type)") }
        handle.addField("Expect:")
        if exchange.contentLength == nil { handle.addField("Transfer-Encoding: chunked") }
        if let trailers = exchange.trailers {
          handle.addField("Trailer: \(trailers.names.joined(separator: ", "))")
          handle.reportTrailers(of: self)
        }
        handle.set(Option.upload, true)
        handle.set(Option.uploadSize, size: exchange.contentLength ?? -1)
      } else if method.isHead {
        handle.set(Option.noBody, true)
      } else if ["POST", "PUT", "PATCH"].contains(method.name) {
        // The field Content-Length: 0 (RFC 9110, section 8.6).
        if !hasType { handle.addField("Content-Type:") }
        handle.set(Option.post, true)
        handle.set(Option.postSize, size: 0)
        handle.set(Option.copiedPostFields, "")
      } else {
        handle.set(Option.httpGet, true)
      }
      if method != .get || !body.isEmpty { handle.set(Option.customRequest, method.name) }
    }

    // MARK: - Callbacks of the response

    /// - Returns: Whether the transfer continues.
    func receivedLine(_ line: UnsafeRawBufferPointer) -> Bool {
      switch head.read(line) {
      case .none: break
      case .invalid(let text):
        fault = HTTPError(
          .invalidResponse, "The response from \(url.host):\(url.port) is not HTTP. \(text) Check the port.")
        return false
      case .head(let status, let fields):
        if head.hasEnded, expectsContinue { withholdBody() }
        if status == CurlTransfer.expectationFailed, mayExpect {
          refusal = fields
        } else {
          received(status, fields)
        }
      }
      return true
    }

    private static let expectationFailed = HTTPStatus(417)

    private func received(_ status: HTTPStatus, _ fields: ResponseHead.Fields) {
      if !status.isInformational, request.method.isHead || status.hasNoBody {
        remaining = 0
      } else if !status.isInformational {
        do throws(HTTPError) { try beginBody(fields) } catch { exchange.fail(error) }
      }
      exchange.receiveHead(status, fields, timings: status.isInformational ? nil : timings())
      checkIsAnsweredEarly()
    }

    /// - Returns: The timings until now, or `nil` after the end of the handle.
    private func timings() -> HTTPTimings? {
      handle.map { HTTPTimings($0, queued: started - called, wasSent: sendCount > 0) }
    }

    private func beginBody(_ fields: ResponseHead.Fields) throws(HTTPError) {
      var (lengths, encodings): ([String], [String]) = ([], [])
      for (name, value) in fields {
        switch name.lowercased() {
        case "content-length": lengths.append(value)
        case "content-encoding": encodings.append(value)
        case "transfer-encoding": chunked = ChunkedBody()  // The exchange refuses all others.
        default: break
        }
      }
      if chunked == nil, lengths.count == 1 { remaining = Int(lengths[0]) }
      if case .platform(let accepted) = settings.decoding, !encodings.isEmpty {
        decoder = try BodyDecoder(BodyFraming.acceptedCodings(encodings, accepted))
      }
    }

    /// - Returns: Whether the transfer continues.
    func received(_ bytes: UnsafeRawBufferPointer) -> Bool {
      if let refusal = refusal.take() { received(CurlTransfer.expectationFailed, refusal) }
      let awaitedRoom = room != nil
      do throws(HTTPError) {
        if chunked == nil {
          remaining = remaining.map { $0 - bytes.count }
          try receive(bytes)
        } else {
          var rest = bytes
          while let part = try chunked!.next(&rest) {
            switch part {
            case .bytes(let bytes): try receive(bytes)
            case .trailer(let line): head.readTrailer(line)
            }
          }
        }
      } catch {
        fault = error
        return false
      }
      checkIsAnsweredEarly()
      // libcurl can lose bytes if a callback refuses them to be paused (8.16), so they were accepted. If only one direction is paused,
      // some versions read once more. If the reader has made room by now, `resume` follows, and until then more bytes would be kept.
      if room != nil, !awaitedRoom { handle?.pause(true) }
      return true
    }

    private func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTPError) {
      if let decoder {
        decoder.store(bytes)
        if !isPaused { try decoder.resume(pass) }
      } else if isPaused || !kept.isEmpty {
        kept.append(contentsOf: bytes)  // The reader can have made room in between.
      } else {
        pass(Data(bytes))
      }
    }

    /// Passes what arrived during a pause.
    private func passKept() throws(HTTPError) {
      if let decoder { return try decoder.resume(pass) }
      guard !kept.isEmpty else { return }
      let data = kept
      kept = Data()
      pass(data)
    }

    /// Passes decoded bytes to the exchange. Returns whether the reader has room for more.
    @discardableResult
    private func pass(_ data: Data) -> Bool {
      guard let room = exchange.receive(data), !room.isCompleted else { return !isPaused }
      if !isPaused {
        self.room = room
        room.observe { [engine, weak self] _ in self.map { engine.submit(.resume($0)) } }
      }
      return false
    }

    private var isPaused: Bool { room.map { !$0.isCompleted } ?? false }

    /// Stops sending if the server has answered before the request was sent.
    private func checkIsAnsweredEarly() {
      guard upload.map({ !$0.isSent }) ?? isBodyWithheld, !isAnsweredEarly, head.hasEnded,
        remaining == 0 || chunked?.hasEnded == true
      else {
        return
      }
      isAnsweredEarly = true
      engine.submit(.stop(self))
    }

    // MARK: - Callbacks of the request

    func send(into buffer: UnsafeMutableRawBufferPointer) -> CurlHandle.Sent {
      guard isWanted else { return .stop }
      // Since 8.16, libcurl waits for consent at most 65 seconds. Such versions end a response also while sending is paused.
      guard !isBodyWithheld || upload != nil else { return .pause }
      let upload =
        upload
        ?? CurlUpload(request.body, length: exchange.bodyLength, exchange.trailers) { [engine, weak self] in
          self.map { engine.submit(.resume($0)) }
        }
      self.upload = upload
      exchange.begin(.sending)  // Before 7.80, libcurl does not report it.
      switch upload.take(buffer) {
      case .bytes(let count):
        sentSize += count
        if count == 0 { exchange.begin(.waiting) }
        exchange.bodySent(sentSize)
        return .bytes(count)
      case .wait: return .pause
      case .failed(let error):
        exchange.fail(error)
        return .stop
      case .stopped: return .stop
      }
    }

    /// The lines that follow the body, which was taken whole.
    var trailers: [String] { upload?.trailers.map { "\($0.name): \($0.value)" } ?? [] }

    /// Whether the request waits for the consent of the server: nothing of its body was read.
    private var expectsContinue: Bool { upload == nil && mayExpect }

    /// Keeps libcurl from sending the body, because the server has answered without consent.
    private func withholdBody() {
      isBodyWithheld = true
      handle?.set(CurlHandle.Option.expectTimeout, CurlTransfer.longTime)
      // The server can still take what follows for the body. libcurl closes the connection only after some statuses.
      handle?.set(CurlHandle.Option.forbidsReuse, true)
    }

    private static let longTime = 7 * 24 * 60 * 60 * 1000

    private var isIdempotent: Bool { request.method.inUpperCase.isIdempotent }

    /// - Returns: Whether the body can be sent again from its beginning.
    func rewind() -> Bool {
      guard mayRepeat(hasReadBody: true) else { return false }
      if let upload {
        upload.stop()
        released.append(upload.released)
      }
      (upload, sentSize) = (nil, 0)
      return true
    }

    private func mayRepeat(hasReadBody: Bool = false) -> Bool {
      // The response has arrived. libcurl repeats a request whose expectation was refused (417), and a request that a server of HTTP/2
      // ends with the code that asks for HTTP/1.1.
      guard !head.hasEnded else {
        if head.status == CurlTransfer.expectationFailed, mayExpect {
          isRepetitionStopped = true
        } else {
          fault = HTTPError(.truncatedBody, "The server ended the response before its body was whole. Load again.")
        }
        return false
      }
      guard let reason = request.reasonNotToRepeat(hasReadBody: hasReadBody) else { return true }
      fault = reason
      return false
    }

    /// - Returns: Whether the request may be sent.
    func beforeRequest(to peer: String) -> Bool {
      guard isWanted, sendCount == 0 || mayRepeat() else { return false }
      sendCount += 1
      exchange.begin(.sending)
      if request.body.isEmpty { exchange.begin(.waiting) }
      return true
    }

    /// - Returns: Whether a connection may be opened.
    func beforeConnection() -> Bool {
      // Something was sent on another connection before.
      handle.map { $0.number(CurlHandle.Information.requestSize) } ?? 0 == 0 || mayRepeat()
    }

    func openedSocket(_ descriptor: Int32) {
      exchange.begin(.connecting)
      loop?.opened(descriptor, for: url.scheme == .https ? self : nil)
    }

    // MARK: - Commands

    /// Continues after a pause. While the reader is behind, both directions remain paused.
    func resume() {
      guard !hasEnded, !isPaused else { return }
      room = nil  // Another room means another call, also if the reader makes it at once.
      do throws(HTTPError) { try passKept() } catch { fault = error }
      if let held = heldResult {
        if fault != nil || room == nil { finish(held.code, held.text) }
      } else if fault != nil, let handle {
        loop?.remove(handle, self)
        finish(23, "")
      } else if room == nil {
        handle?.pause(false)
      }
    }

    // MARK: - Ends

    /// Reads the facts before the handle is used again.
    func willEnd(_ handle: CurlHandle) {
      guard settings.onExchange != nil, let timings = timings() else { return }
      facts = CurlExchangeFacts(request, handle, head, timings, called: called, attempts: sendCount)
    }

    /// Receives the result of libcurl, after the handle was removed.
    func completed(_ code: Int32, _ text: String) {
      // `resume` follows as long as there is a room, also if the reader has made it by now.
      let isBehind = room != nil && decoder?.hasRest ?? !kept.isEmpty
      guard fault == nil, isWanted, isBehind else { return finish(code, text) }
      heldResult = (code, text)
    }

    /// Whether libcurl has ended the transfer, and its last bytes wait for the reader.
    var isHeld: Bool { heldResult != nil }

    /// Registers that the transfer was stopped.
    func removed() {
      guard isAnsweredEarly, fault == nil else { return ended(.stopped) }
      completed(0, "")
    }

    private func finish(_ code: Int32, _ text: String) {
      heldResult = nil
      ended(end(code, text))
    }

    private func end(_ code: Int32, _ text: String) -> HTTPExchange.End {
      if let fault { return .failed(fault) }
      if code == 0 || isRepetitionStopped, let fields = refusal.take() {
        let framing = isRepetitionStopped ? BodyFraming.fields : []
        received(CurlTransfer.expectationFailed, fields.filter { !framing.contains($0.name.lowercased()) })
      }
      if code == 0 || isRepetitionStopped, head.hasEnded, chunked?.hasEnded ?? true {
        do throws(HTTPError) { try decoder?.finish() } catch { return .failed(error) }
        if !head.trailers.isEmpty { exchange.receiveTrailers(head.trailers) }
        return .completed
      }
      if !isWanted { return .stopped }
      let table = CurlErrorTable(
        url: url, proxy: proxy, unixSocketPath: settings.unixSocketPath, hasHead: head.hasEnded, hasBegun: head.hasBegun
      )
      return .failed(table.error(code, text))
    }

    /// Reports the end to the exchange.
    func ended(_ end: HTTPExchange.End) {
      guard !hasEnded else { return }
      hasEnded = true
      upload?.stop()
      if let facts, let onExchange = settings.onExchange { onExchange(facts) }
      switch end {
      case .completed: return exchange.end(end)
      case .failed(let error): exchange.fail(error)  // At once. A reset waits for the source of the body.
      case .stopped: break
      }
      if let upload { released.append(upload.released) }
      guard released.contains(where: { !$0.isCompleted }) else { return exchange.end(end) }
      Future.all(released).observe { [exchange] _ in exchange.end(end) }
    }
  }
#endif
