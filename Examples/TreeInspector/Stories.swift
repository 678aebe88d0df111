import FutureTree

/// The stories of the example.
extension Stage {
  /// A tree with three branches, of which the middle one is cancelled. For the drawing.
  static func blog() -> Stage {
    let stage = Stage()
    let user = stage.source("user", answers: ".continue") { .continue }
    let posts = user.future.map { "the posts of \($0)" }.named("posts").logged(in: stage.log)
    let loads = (1...3).map { number in
      let name = "GET /posts/\(number)/comments"
      return stage.source(name, caption: "connection open", answers: ".complete(.cancelled)") { [weak stage] in
        stage?.caption(name, "connection closed")
        return .complete(.cancelled)
      }
    }
    let branches = loads.enumerated().map { index, load in
      posts.onSuccess { _ in load.future }.named("comments on post \(index + 1)")
    }
    stage.moment("One user, three branches", "The comments wait for the posts, and the posts wait for the user.") {}
    stage.moment("One branch is cancelled", "Its connection is closed. The others continue.") {
      user.succeed("Ada")
      branches[1].cancel(reason: "the reader scrolled past it")
    }
    return stage
  }

  /// A mail reader that signs in once for three branches. For the page.
  static func mail() -> Stage {
    let stage = Stage()
    let signIn = stage.source("sign in (shared)", answers: ".continue") { .continue }
    let loadInbox = stage.source("GET /inbox", answers: ".complete(.cancelled)") { .complete(.cancelled) }
    let loadAvatar = stage.source("GET /avatar", answers: ".continue") { .continue }
    let session = signIn.future.shared().logged(in: stage.log)
    let inbox = session.onSuccess { _ in loadInbox.future }.named("inbox")
    let (badge, list) = (inbox.map { $0.count }.named("badge"), inbox.map { [$0] }.named("list"))
    let search = session.map { $0 }.named("search \"cats & <dogs>\"")
    let avatar = session.onSuccess { _ in loadAvatar.future }.named("avatar")

    stage.moment(
      "Three branches wait for one sign-in",
      "The inbox, a search and the avatar need a session. The sign-in is marked as shared."
    ) {}
    stage.moment(
      "The search is cleared",
      "The request stops at the sign-in, because it has other consumers. Only the search ends.",
      after: .milliseconds(200)
    ) {
      stage.say("receipt: \(search.cancel(reason: "the search for \"cats & <dogs>\" was cleared"))")
    }
    stage.moment(
      "The sign-in succeeds",
      "Two bodies run, and each returns a future. The inbox and the avatar now wait for these futures.",
      after: .milliseconds(300)
    ) {
      signIn.succeed("session")
    }
    stage.moment(
      "The badge is hidden",
      "It requests with doNotForwardIfOthersWaiting. The list is another consumer of the inbox, so the request stops there.",
      after: .milliseconds(300)
    ) {
      stage.say("receipt: \(badge.cancel(.doNotForwardIfOthersWaiting, reason: "the badge was hidden"))")
    }
    stage.moment(
      "The list is closed",
      "The inbox has no consumer left. The withheld request is delivered with its own reason, and the handler completes. "
        + "The list completes as the inbox does, with the reason of the badge.",
      after: .milliseconds(300)
    ) {
      stage.say("receipt: \(list.cancel(.doNotForwardIfOthersWaiting, reason: "the list was closed"))")
    }
    stage.moment(
      "The avatar is cancelled",
      "The handler of its load answers .continue. The avatar waits for the outcome of the load.",
      after: .milliseconds(300)
    ) {
      stage.say("receipt: \(avatar.cancel(reason: "the window was closed"))")
    }
    stage.moment(
      "The avatar is forced",
      "It completes immediately. Its load received a request before, is not forced, and continues.",
      after: .milliseconds(300)
    ) {
      stage.say("receipt: \(avatar.cancel(.forceImmediately, reason: "the program ends"))")
    }
    stage.moment("The load of the avatar ends", "No consumer waits for it.", after: .milliseconds(300)) {
      loadAvatar.succeed("a picture")
    }
    return stage
  }
}
