import Dispatch
import FutureTree
import FutureTreeHTTP

@main struct QuickStart {
  static func main() async throws {
    let server = try BlogServer()
    let blog = Blog(at: server.url, over: URLSessionLoader())

    // One trunk: a user, then the posts of that user. Three branches: the comments on each post.
    title("A tree of HTTP calls, while the posts are on their way")
    let posts = blog.user(1).onSuccess { user in blog.posts(of: user) }.named("posts")
    let branches = (0..<3).map { index in
      posts.onSuccess { posts in blog.comments(on: posts[index]) }.named("comments on post \(index + 1)")
    }
    await server.hasReceived("/users/1/posts")
    print(posts.tree())

    title("The posts are there. One branch is cancelled while all three are on the wire")
    server.answerPosts()
    await server.hasReceived("/posts/1/comments", "/posts/2/comments", "/posts/3/comments")
    let receipt = branches[1].cancel(reason: "the reader scrolled past post 2")
    print("receipt: \(receipt)")
    for branch in branches { print(branch.tree()) }

    title("What came of it")
    await server.hasSeenClose(of: "/posts/2/comments")
    server.answerComments()
    for branch in branches { print(await branch.outcome.line) }
    print("the trunk: \(await posts.outcome.line)")
    print("connections that the client closed, by the server's record: \(server.closedByClient)")

    title("A second run: the trunk is cancelled, and everything ends")
    let second = blog.user(2).named("user 2")
    let names = (0..<3).map { index in second.map { user in "\(user.name) \(index)" }.named("branch \(index + 1)") }
    await server.hasReceived("/users/2")
    print("receipt: \(second.cancel(reason: "the reader left"))")
    for name in names { _ = await name.outcome }
    for name in names { print(name.tree()) }

    title("Promises that are not HTTP take part in the same kind of chain")
  }
}
