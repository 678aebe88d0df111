// A program whose futures are shown on a page while it runs.
//
//   swift run --package-path Integrations/Server InspectorExample                a shop with some visitors
//   swift run --package-path Integrations/Server InspectorExample --many 10000   with this many more futures
//
// It prints the address of the page. For each line of its input, it prints the processor time that it has used, in seconds. It ends
// when its input ends.

import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeInspector

let mock = MockLoader()
mock.onOthers(.hold(whenCancelled: .complete))
let throttle = Throttle(2)
let api = throttle --> mock

let session = api.get("https://shop.example/session").named("session").shared()
let basket = session.flatMap { _ in api.get("https://shop.example/basket") }.named("basket")
let offers = session.flatMap { _ in api.get("https://shop.example/offers") }.named("offers <b>&</b> \u{202E}news")
let images = (1...4).map { api.get("https://shop.example/images/\($0)").named("image \($0)") }
let page = Future.all(images).map { $0.count }.named("page")
let menu = offers.map { $0.status }.named("menu")
offers.map { $0.status }.named("banner").cancel(.doNotForwardIfOthersWaiting, reason: "the banner was closed")
let search = session.map { $0.status }.named("search")
search.cancel(reason: "the search was cleared")

let promise = Promise<Int>()
let many = CommandLine.arguments.count > 2 ? Int(CommandLine.arguments[2]) ?? 0 : 0
let others = (0..<many).map { number in promise.future.map { $0 + number }.named("visitor \(number)") }

let inspector = Inspector(allowsCancellation: true, interval: .milliseconds(100))
inspector.add(basket)
inspector.add(page)
inspector.add(promise.future)
inspector.add(throttle, named: "shop")

let server = Task {
  do {
    // Not `print`, whose buffer is written late if the output is a pipe.
    try await inspector.serve { address in FileHandle.standardOutput.write(Data("\(address)\n".utf8)) }
  } catch {
    FileHandle.standardError.write(Data("\(error)\n".utf8))
    exit(1)
  }
}
Thread.detachNewThread {
  while readLine() != nil {
    FileHandle.standardOutput.write(Data("\(Double(clock()) / Double(CLOCKS_PER_SEC))\n".utf8))
  }
  exit(0)
}
await server.value
withExtendedLifetime((images, menu, search, others)) {}
