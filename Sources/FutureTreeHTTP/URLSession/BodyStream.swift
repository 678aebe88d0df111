import Foundation

/// A body as the platform wants to read it: on its own thread, when the connection takes more.
///
/// What goes wrong is told to the transfer, because a stream loses it on its way through the platform; to the platform the
/// stream has failed, so that it breaks the connection off and the peer does not take the body for a whole one.
final class BodyStream: InputStream {
  private let body: HTTPBody
  private let length: Int?
  private let refusal: HTTPError?
  private let onFailure: @Sendable (HTTPError) -> Void
  private var reader: HTTPBodyReader?
  private var status = Stream.Status.notOpen

  /// - Parameters:
  ///   - length: How many bytes were announced. A body that has more or fewer fails.
  ///   - refusal: Why there is no body to read.
  init(
    _ body: HTTPBody, length: Int?, refusal: HTTPError? = nil, onFailure: @escaping @Sendable (HTTPError) -> Void
  ) {
    self.body = body
    self.refusal = refusal
    self.length = length
    self.onFailure = onFailure
    super.init(data: Data())
  }

  /// The body is opened with the first read: many requests may wait for a connection.
  override func open() { status = .open }

  override func close() {
    status = .closed
    reader = nil
  }

  override var hasBytesAvailable: Bool { status == .open || status == .notOpen }
  override var streamStatus: Stream.Status { status }
  override var streamError: (any Error)? { nil }

  override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
    guard status == .open || status == .notOpen else { return status == .atEnd ? 0 : -1 }
    do throws(HTTPError) {
      let bytes = try openedReader().read(upTo: maxLength)
      if bytes.isEmpty {
        status = .atEnd
        self.reader = nil
      }
      bytes.copyBytes(to: buffer, count: bytes.count)
      return bytes.count
    } catch {
      status = .error
      reader = nil
      onFailure(error)
      return -1
    }
  }

  private func openedReader() throws(HTTPError) -> HTTPBodyReader {
    if let reader { return reader }
    if let refusal { throw refusal }
    var opened = try body.makeReader()
    // A file was measured when the request was loaded; it may have another size by now.
    if let length { opened = HTTPBodyReader(opened, length: length, name: "The body") }
    reader = opened
    return opened
  }

  #if !canImport(FoundationNetworking)
    // What CFNetwork calls on a stream that is not its own.
    override func getBuffer(
      _: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length _: UnsafeMutablePointer<Int>
    ) -> Bool { false }
    override func property(forKey _: Stream.PropertyKey) -> Any? { nil }
    override func setProperty(_: Any?, forKey _: Stream.PropertyKey) -> Bool { false }
    override func schedule(in _: RunLoop, forMode _: RunLoop.Mode) {}
    override func remove(from _: RunLoop, forMode _: RunLoop.Mode) {}
    @objc(_scheduleInCFRunLoop:forMode:)
    func scheduleInCFRunLoop(_: CFRunLoop?, forMode _: CFString?) {}
    @objc(_unscheduleFromCFRunLoop:forMode:)
    func unscheduleFromCFRunLoop(_: CFRunLoop?, forMode _: CFString?) {}
    @objc(_setCFClientFlags:callback:context:)
    func setCFClientFlags(_: CFOptionFlags, callback _: UnsafeRawPointer?, context _: UnsafeRawPointer?) -> Bool {
      false
    }
  #endif
}
