import FutureTree
import Testing

@testable import TreeInspector

@Suite("Picture") struct PictureTests {
  @Test("A withheld request is shown where it stopped until it is delivered")
  func withheld() throws {
    let history = Picture.history(of: Stage.mail().moments)

    let inbox = try #require(history[0].futures.first { $0.future.name == "inbox" }?.number)
    #expect(history[3].brief(of: inbox) == "withheld: 1 other consumer")
    #expect(history[3].wanting(inbox) == ["list"])
    #expect(history[4].brief(of: inbox) == "the badge was hidden")
    #expect(history[4].stateText(of: inbox) == "cancelled")
  }

  @Test("A future cancelled for the reason of another request shows its own request as well")
  func ownRequest() throws {
    let history = Picture.history(of: Stage.mail().moments)

    let list = try #require(history[0].futures.first { $0.future.name == "list" }?.number)
    #expect(history[3].brief(of: list) == "")
    #expect(history[4].stateText(of: list) == "cancelled")
    #expect(history[4].brief(of: list) == "asked to cancel: the list was closed")
    #expect(history[4].detail(of: list) == "asked to cancel: the list was closed; ended: the badge was hidden")
  }

  @Test("An edge is wanted, delivered or cut")
  func edges() throws {
    let history = Picture.history(of: Stage.blog().moments)

    let last = try #require(history.last)
    let states = last.edges.map { edge in
      "\(last[edge.from]?.name ?? "") \(edge.state) \(last[edge.to]?.name ?? "")"
    }
    #expect(
      Set(states) == [
        "user delivered posts", "posts delivered comments on post 1", "posts delivered comments on post 2",
        "posts delivered comments on post 3", "GET /posts/1/comments wanted comments on post 1",
        "GET /posts/2/comments cut comments on post 2", "GET /posts/3/comments wanted comments on post 3",
      ])
    #expect(history[0].edges.allSatisfy { $0.state == .wanted })
  }
}
