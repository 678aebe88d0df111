import Foundation
import FutureTree
import FutureTreeTesting
import TestSupport
import Testing

@Suite("Pictures of the tree: coding") struct TreeCodableTests {
  @Test("A snapshot of every state is decoded unchanged")
  func roundTrip() throws {
    let promise = Promise<Int>()
    let executor = ManualExecutor()
    let load = promise.future.named("load \"quoted\" 漢字\n").shared()
    let waiting = [load.map { $0 }.named("left"), load.map { $0 }]
    waiting[0].cancel(.doNotForwardIfOthersWaiting, reason: "the tab was closed")
    let queued = Future.succeeded(1).map(on: executor.executor) { $0 }
    let asked = Promise<Int>()
    asked.future.cancel([], reason: "enough")
    let trees = [
      load.tree(), queued.tree(), asked.future.tree(), Future.succeeded(1).tree(), waiting[0].tree(),
      Future<Int>.failed(DroppedJob()).tree(), Future<Int>.cancelled("because").tree(),
    ]

    for tree in trees {
      let copy = try JSONDecoder().decode(TreeSnapshot.self, from: try JSONEncoder().encode(tree))
      expectEqual(copy, tree)
      expectEqual(copy.text(showsSourceLocations: true), tree.text(showsSourceLocations: true))
    }
    executor.runAll()
    withExtendedLifetime((promise, asked)) {}
  }

  @Test("The encoded fields have the documented names")
  func fields() throws {
    let promise = Promise<Int>(fileID: "App/Load.swift", line: 3)
    let future = promise.future.named("load")
    let waiting = future.map { $0 }.named("page", fileID: "App/Page.swift", line: 9)
    future.cancel(.doNotForwardRequest, reason: CancellationReason("enough", fileID: "App/Page.swift", line: 7))
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]

    let json = String(decoding: try encoder.encode(future.tree()), as: UTF8.self)

    let reason = #"{"fileID":"App/Page.swift","line":7,"message":"enough"}"#
    let asked = #"{"asked":{"options":["doNotForwardRequest"],"reason":\#(reason)},"consumers":1,"#
    let load = asked + #""createdAt":{"fileID":"App/Load.swift","line":3},"marked":true,"name":"load","#
    let page = #"{"consumers":0,"createdAt":{"fileID":"App/Page.swift","line":9},"marked":false,"name":"page","#
    let futures = [
      load + #""shared":false,"state":{"kind":"pending"},"upstream":[],"waiters":[1]}"#,
      page + #""shared":false,"state":{"kind":"pending"},"upstream":[0],"waiters":[]}"#,
    ]
    expectEqual(json, #"{"futures":[\#(futures.joined(separator: ","))]}"#)
    withExtendedLifetime((promise, waiting)) {}
  }

  @Test("An invalid reference and an unknown option are refused with an error that names them")
  func refused() {
    let options = Data(#"["forceImmediately", "pretty"]"#.utf8)
    let tree = Data(
      #"""
      {"futures": [{"name": "a", "state": {"kind": "pending"}, "consumers": 0, "shared": false, "marked": true,
       "waiters": [1], "upstream": []}]}
      """#.utf8)

    #expect(refusal(of: options, as: CancellationOptions.self).contains("The option `pretty` does not exist."))
    #expect(refusal(of: tree, as: TreeSnapshot.self).contains("Future 0 refers to future 1, but there are 1."))
  }

  private func refusal<Value: Decodable>(of data: Data, as type: Value.Type) -> String {
    do {
      _ = try JSONDecoder().decode(type, from: data)
      return "nothing was refused"
    } catch {
      return "\(error)"
    }
  }
}
