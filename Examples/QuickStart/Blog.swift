import Foundation
import FutureTree
import FutureTreeHTTP

struct User: Decodable, Sendable {
  let id: Int
  let name: String
}

struct Post: Decodable, Sendable {
  let id: Int
  let title: String
}

struct Comment: Decodable, Sendable {
  let text: String
}

/// A small client of a JSON API. Each call returns a future of the decoded response.
struct Blog: Sendable {
  private let url: String
  private let loader: any HTTPLoader

  init(at url: String, over loader: any HTTPLoader) {
    self.url = url
    self.loader = loader
  }

  func user(_ id: Int) -> Future<User> { get("/users/\(id)") }

  func posts(of user: User) -> Future<[Post]> { get("/users/\(user.id)/posts") }

  func comments(on post: Post) -> Future<[Comment]> { get("/posts/\(post.id)/comments") }

  private func get<Value: Decodable & Sendable>(_ path: String) -> Future<Value> {
    loader.load { try HTTPRequest(url + path) }.named("GET \(path)")
      .map { response in try JSONDecoder().decode(Value.self, from: try response.body) }.named("decode")
  }
}
