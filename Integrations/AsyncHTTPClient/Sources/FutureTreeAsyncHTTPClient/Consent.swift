import FutureTree
import NIOConcurrencyHelpers

/// The consent of the server to a body that waits for it (`Expect: 100-continue`, RFC 9110, section 10.1.1). After a second without an
/// answer, the body is sent without consent.
final class Consent: Sendable {
  private let clock: any FutureClock
  private let given = Promise<Void>()
  private let timer = NIOLockedValueBox<FutureTimer?>(nil)

  init(_ clock: any FutureClock) { self.clock = clock }

  /// A future that completes when the body may be read. It remains pending if the server answers without consent.
  var future: Future<Void> { given.future }

  /// Begins the wait, because the head of the request is written.
  func beginWait() { set(clock.schedule(after: .seconds(1)) { [given] in given.succeed() }) }

  func arrived() {
    given.succeed()
    endWait()
  }

  /// Ends the time limit: the server has answered, or the request was stopped.
  func endWait() { set(nil) }

  private func set(_ new: FutureTimer?) {
    timer.withLockedValue { timer in
      defer { timer = new }
      return timer
    }?.cancel()
  }
}
