import Dispatch
import FutureTree
import FutureTreeHTTP

@main struct QuickStart {
  static func main() async throws {
    let server = try BlogServer()
    let blog = Blog(at: server.url, over: SystemLoader())

    title("A user, then the posts, then the comments on each of three posts")
    let posts = blog.user(1).onSuccess { user in blog.posts(of: user) }.named("posts")
    let branches = (0..<3).map { index in
      posts.onSuccess { posts in blog.comments(on: posts[index]) }.named("comments on post \(index + 1)")
    }
    await server.waitForRequest(to: "/users/1/posts")
    print(posts.tree())

    title("One branch is cancelled while all three loads are in flight")
    server.answerPosts()
    await server.waitForRequest(to: "/posts/1/comments", "/posts/2/comments", "/posts/3/comments")
    for branch in branches { print(branch.tree()) }
    print("receipt: \(branches[1].cancel(reason: "the reader scrolled past it"))")

    title("Outcomes")
    await server.waitForClose(of: "/posts/2/comments")
    server.answerComments()
    for branch in branches { report(branch, await branch.outcome) }
    report(posts, await posts.outcome)
    print("connections closed by the client, as seen by the server: \(server.closedByClient)")

    title("Second run: the user is cancelled, and everything that depends on it ends")
    let user = blog.user(2).named("user 2")
    let greetings = ["hello", "goodbye"].map { word in user.map { "\(word), \($0.name)" }.named(word) }
    await server.waitForRequest(to: "/users/2")
    print(user.tree())
    print("receipt: \(user.cancel(reason: "the reader left"))")
    for future in greetings { report(future, await future.outcome) }
    report(user, await user.outcome)

    title("Work that is not HTTP: a computation on a queue, and a timer")
    let primes = Future(on: .global()) { countPrimes(below: 100_000) }.named("primes")
    let pause = timer(after: .seconds(60)).named("timer")
    let both = primes.onSuccess { count in pause.map { "\(count) primes, a minute later" } }.named("both")
    report(primes, await primes.outcome)
    print(both.tree())
    print("receipt: \(both.cancel(reason: "a minute is too long"))")
    report(both, await both.outcome)
  }

  /// Wraps a callback in a promise: the callback completes the promise, and a handler reacts to a cancellation request.
  static func timer(after interval: DispatchTimeInterval) -> Future<Void> {
    let promise = Promise<Void>()
    promise.onRequestCancel { _ in .complete(.cancelled) }
    DispatchQueue.global().asyncAfter(deadline: .now() + interval) { promise.succeed() }
    return promise.future
  }
}
