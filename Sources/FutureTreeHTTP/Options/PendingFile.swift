import Foundation
import FutureTree

/// The file of a body until its load has succeeded. It has a temporary name next to its destination.
///
///     transport ──► temporary file ──► layers ──► last future of the load ──► destination
///
/// A transport cannot know whether its load succeeds: a layer can still be asked to cancel. The file therefore gets its name in the
/// body of the last future, which does not begin after a cancellation request.
///
/// No process takes it for the file of a killed process: `BodyFile` removes only names of its own.
///
/// # Invariants
/// 1. The destination is replaced at most once, and not after the last future has completed.
/// 2. The temporary file is removed when the last future completes, and when no request refers to it any more: a transport that was
///    forced to end can write it later.
final class PendingFile: Sendable {
  private enum State {
    case pending, committed, discarded
  }

  let url: URL
  private let delivery: ResponseDelivery
  let destination: URL
  private let state = Locked(State.pending)

  private init(for destination: URL, _ delivery: ResponseDelivery) {
    self.delivery = delivery
    self.destination = destination
    let name = String(RandomSource.system.next(), radix: 16)
    url = destination.deletingLastPathComponent().appendingPathComponent(".FutureTree-\(name).pending")
  }

  deinit {
    if state.value != .committed { unlink(url.path) }
  }

  /// Delivers the body of a request to a pending file, if the request specifies a file.
  ///
  /// - Returns: `nil` if the request specifies none, or if another future of the load commits it.
  static func replaceFile(of request: inout HTTPRequest) -> PendingFile? {
    var delivery = request.delivery
    if let pending = delivery.pending {
      guard pending.state.value != .pending else { return nil }
      delivery = pending.delivery  // The request of an earlier response.
    }
    guard let destination = delivery.file else { return nil }
    let file = PendingFile(for: destination, delivery)
    request.delivery = delivery.replacingFile(with: file)
    return file
  }

  /// Gives the file its name, if it has the body of the response. Returns the response that the load without a pending file has.
  fileprivate func commit(_ response: HTTPResponse) throws(HTTPError) -> HTTPResponse {
    var request = response.request
    request.delivery = delivery
    guard case .file(url, let size) = response.content else { return response.answering(request) }
    // The lock is held during the system call, so that a completed future has no effect later.
    let fault = state.withLock { state -> Int32? in
      guard state == .pending else { return ECANCELED }
      guard rename(url.path, destination.path) == 0 else { return errno }
      state = .committed
      return nil
    }
    if let fault { throw BodyFile.refused("cannot be renamed to its final name", fault).naming(request) }
    return response.answering(request).replacingContent(.file(destination, size: size))
  }

  fileprivate func discard() {
    state.withLock { state in
      guard state == .pending else { return }
      state = .discarded
      unlink(url.path)
    }
  }
}

extension Future<HTTPResponse> {
  /// Returns the last future of a load, which gives the file of the body its name.
  func committing(_ file: PendingFile) -> Future<HTTPResponse> {
    let last = map { response in try file.commit(response) }
    last.observe { _ in file.discard() }
    return last
  }
}
