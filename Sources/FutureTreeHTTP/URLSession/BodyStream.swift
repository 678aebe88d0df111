import Foundation
import FutureTree

/// A body in the form that the platform reads: on the platform's thread, when the connection can send more.
///
/// Errors are reported to the transfer, because the platform loses the errors of a stream. For the platform the stream
/// has failed, so that it closes the connection and the server does not accept the partial body.
final class BodyStream: InputStream {
  private let body: HTTPBody
  private let length: Int?
  private let refusal: HTTPError?
  private let interruption: BodyInterruption
  private let onFailure: @Sendable (HTTPError) -> Void
  private var reader: HTTPBodyReader?
  private var status = Stream.Status.notOpen

  /// - Parameters:
  ///   - length: The announced number of bytes. A body with more or fewer bytes fails.
  ///   - refusal: The error of a body that cannot be read.
  ///   - interruption: The interruption of reads that wait for an asynchronous source.
  init(
    _ body: HTTPBody, length: Int?, refusal: HTTPError? = nil, _ interruption: BodyInterruption,
    onFailure: @escaping @Sendable (HTTPError) -> Void
  ) {
    self.body = body
    self.refusal = refusal
    self.interruption = interruption
    self.length = length
    self.onFailure = onFailure
    super.init(data: Data())
  }

  /// The body is opened by the first read, because many requests may wait for a connection.
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
      if !interruption.caused(error) { onFailure(error) }
      return -1
    }
  }

  private func openedReader() throws(HTTPError) -> HTTPBodyReader {
    if let reader { return reader }
    if let refusal { throw refusal }
    var opened = try body.makeReader()
    // The size of a file was read when the request was loaded. It may have changed.
    if let length { opened = HTTPBodyReader(opened, length: length, name: "The body") }
    if let asynchronous = opened.asynchronous { interruption.attach(asynchronous.handover) }
    reader = opened
    return opened
  }

  #if !canImport(FoundationNetworking)
    // Methods that CFNetwork calls on custom streams.
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

/// The end of the waits for an asynchronous body, when the transfer of the body ends.
///
/// The platform reads bodies on its own thread, and a read cannot be postponed. A call that cancels a task waits for the
/// same thread. A blocked read must therefore end before the task is cancelled.
final class BodyInterruption: Sendable {
  private struct State {
    var hasFired = false
    var hasFailedRead = false
    /// The handover of the body that was opened last. The platform no longer reads the bodies before it.
    var handover: ChunkHandover?
  }

  private let state = Locked(State())

  /// Whether a read has failed because of the interruption. For the platform, the body is then broken.
  var hasFailedRead: Bool { state.withLock { $0.hasFailedRead } }

  /// Registers the handover of an opened body.
  func attach(_ handover: ChunkHandover) {
    let (hasFired, replaced) = state.withLock { state in
      defer { state.handover = state.hasFired ? nil : handover }
      return (state.hasFired, state.handover)
    }
    if hasFired { handover.stop() }
    replaced?.stop()
  }

  /// Ends the current read and all later reads.
  func fire() {
    let handover = state.withLock { state in
      state.hasFired = true
      return state.handover.take()
    }
    handover?.stop()
  }

  /// Registers the error of a read.
  ///
  /// - Returns: Whether the interruption caused it.
  func caused(_ error: HTTPError) -> Bool {
    guard error.underlying is ChunkHandover.Stopped else { return false }
    state.withLock { $0.hasFailedRead = true }
    return true
  }
}
