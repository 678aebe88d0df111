// The API client that the chains use, modeled on that of an app. `Benchmarks/compile-time` puts this file before the chains
// that it generates.

import FutureTree
import FutureTreeHTTP

nonisolated struct User: Codable, Sendable {
  var id = 1
  var name = "Ada"
}

nonisolated struct Post: Codable, Sendable {
  var id = 1
  var likes = 1
  var title = ""
}

nonisolated struct Comment: Codable, Sendable { var text = "" }

nonisolated struct Missing: Error {}

nonisolated struct API: Sendable {
  let http: any HTTPLoader

  func user(_ id: Int) -> Future<User> { .succeeded(User(id: id)) }

  func user(named name: String) -> Future<User> { .succeeded(User(name: name)) }

  func posts(of user: User) -> Future<[Post]> { .succeeded([]) }

  func posts(by id: Int) -> Future<[Post]> { .succeeded([]) }

  func comments(on post: Post) -> Future<[Comment]> { .succeeded([]) }

  func renamed(_ user: User) async throws -> User { user }
}

@MainActor final class Screen {
  func shows(_ user: User) -> Int { user.id }

  func next(after id: Int) -> Future<User> { .succeeded(User(id: id)) }
}

nonisolated func report(_ text: String) {}

// The first chain of a file also pays for the lookup of the library, the operators and the literals.
nonisolated func warmUp(_ api: API, _ screen: Screen) -> Future<String> {
  api.user(1).map { $0.id * 2 + 1 }.flatMap { api.user($0) }.onSuccess { user in api.posts(of: user) }
    .onSuccess { posts in Future.zip(api.user(posts.count + 1), api.user(2)) }.map { a, b in a.name + b.name }
    .recover { "\($0)" }.recoverWith { _ in .succeeded("none") }.onComplete { outcome in Completion(outcome) }
    .map { [$0: Double($0.count) / 2.5] }.map(on: .main) { "\($0)" }.asyncMap { $0 }.timeout(after: .seconds(1))
}
