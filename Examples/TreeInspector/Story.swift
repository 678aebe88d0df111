import FutureTree
import FutureTreeTesting

/// The story of the example: a mail reader that signs in once for three branches.
enum Story {
  /// Returns the log of the story. Its times and its events are the same in each run.
  static func mail() -> FutureLog.Recording {
    let clock = ManualClock()
    let log = FutureLog(clock: clock)
    let signIn = source("sign in", answering: .continue)
    let loadInbox = source("GET /inbox", answering: .complete(.cancelled))
    let loadAvatar = source("GET /avatar", answering: .continue)

    // Three branches wait for one sign-in, which is marked as shared.
    let session = signIn.future.shared().logged(in: log)
    let inbox = session.onSuccess { _ in loadInbox.future }.named("inbox")
    let (badge, list) = (inbox.map { $0.count }.named("badge"), inbox.map { [$0] }.named("list"))
    let search = session.map { $0 }.named("search \"cats & <dogs>\"")
    let avatar = session.onSuccess { _ in loadAvatar.future }.named("avatar")
    let steps: [() -> Void] = [
      // The request stops at the sign-in, because it has other consumers. Only the search ends.
      { search.cancel(reason: "the search was cleared") },
      // Two bodies run, and each returns a future. The inbox and the avatar now wait for these futures.
      { signIn.succeed("session") },
      // The list is another consumer of the inbox, so the request of the badge stops there.
      { badge.cancel(.doNotForwardIfOthersWaiting, reason: "the badge was hidden") },
      // The inbox has no consumer left. The withheld request is delivered, and the handler completes.
      { list.cancel(.doNotForwardIfOthersWaiting, reason: "the list was closed") },
      // The handler answers `.continue`, so that the avatar waits for the outcome of its load.
      { avatar.cancel(reason: "the window was closed") },
      // The avatar completes now. Its load received a request before, is not forced, and continues.
      { avatar.cancel(.forceImmediately, reason: "the program ends") },
      { loadAvatar.succeed("a picture") },
    ]
    for step in steps {
      clock.advance(by: .milliseconds(250))
      step()
    }
    // The futures live until here, so that no event reports their release.
    return withExtendedLifetime((session, inbox, badge, list, search, avatar, loadInbox)) { log.recording() }
  }

  private static func source(
    _ name: String, answering answer: CancelRequestResponse<String>
  ) -> Promise<String> {
    let promise = Promise<String>()
    promise.future.named(name)
    promise.onRequestCancel { _ in answer }
    return promise
  }
}
