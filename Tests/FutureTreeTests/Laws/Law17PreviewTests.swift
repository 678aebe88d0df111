import FutureTree
import TestSupport
import Testing

@Suite("Law 17: receipts, previewCancel", .tags(.law17))
struct Law17PreviewTests {
  static let options: [CancellationOptions] = [
    [], .doNotForwardIfOthersWaiting, .doNotForwardRequest, .forceImmediately,
    [.doNotForwardIfOthersWaiting, .forceImmediately], [.doNotForwardRequest, .forceImmediately],
  ]

  /// A tree, and its future that receives the request.
  struct Scene: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let make: @Sendable () -> (target: Future<Int>, keep: [any Sendable])

    static let every: [Scene] = [
      Scene(testDescription: "a source without a handler") {
        let promise = Promise<Int>()
        return (promise.future, [promise])
      },
      Scene(testDescription: "a source with two handlers") {
        let promise = Promise<Int>()
        for _ in 0..<2 { promise.onRequestCancel { _ in .continue } }
        return (promise.future, [promise])
      },
      Scene(testDescription: "a future that succeeded") { (.succeeded(1), []) },
      Scene(testDescription: "a future that was asked before") {
        let promise = Promise<Int>()
        promise.onRequestCancel { _ in .continue }
        promise.future.cancel(.doNotForwardIfOthersWaiting)
        return (promise.future.map { $0 }, [promise])
      },
      Scene(testDescription: "a chain over a source with another consumer") {
        let promise = Promise<Int>()
        promise.onRequestCancel { _ in .continue }
        let other = promise.future.map { $0 }
        return (promise.future.map { $0 }.map { $0 }, [promise, other])
      },
      Scene(testDescription: "a chain over a shared source with two other consumers") {
        let promise = Promise<Int>()
        let others = (0..<2).map { _ in promise.future.map { $0 } }
        return (promise.future.shared().map { $0 }, [promise, others])
      },
      Scene(testDescription: "a diamond with another consumer of one branch") {
        let promise = Promise<Int>()
        promise.onRequestCancel { _ in .continue }
        let (left, right) = (promise.future.map { $0 }, promise.future.map { $0 })
        let token = left.cancelToken()
        return (Future.all([left, right]).map { $0[0] }, [promise, token])
      },
      Scene(testDescription: "a diamond without other consumers") {
        let promise = Promise<Int>()
        promise.onRequestCancel { _ in .continue }
        let joined = Future.all([promise.future.map { $0 }, promise.future.map { $0 }])
        return (joined.map { $0[0] }, [promise])
      },
      Scene(testDescription: "a shield") {
        let promise = Promise<Int>()
        return (promise.future.shielded().map { $0 }, [promise])
      },
      Scene(testDescription: "a future whose body has returned another") {
        let (outer, inner) = (Promise<Int>(), Promise<Int>())
        inner.onRequestCancel { _ in .continue }
        let future = outer.future.flatMap { _ in inner.future }
        outer.succeed(1)
        return (future, [outer, inner])
      },
      Scene(testDescription: "a source with a withheld request, whose last other consumer has withdrawn") {
        let promise = Promise<Int>()
        promise.onRequestCancel { _ in .continue }
        var other: CancelToken? = promise.future.cancelToken()
        let target = promise.future.map { $0 }
        promise.future.cancel(.doNotForwardIfOthersWaiting, reason: "withheld")
        other = nil
        return (target, [promise, other])
      },
    ]
  }

  @Test("A preview equals the receipt, and changes nothing", arguments: Scene.every, options)
  func same(scene: Scene, options: CancellationOptions) {
    let (target, keep) = scene.make()
    let before = target.tree()

    let preview = target.previewCancel(options)
    let again = target.previewCancel(options)
    let after = target.tree()
    let receipt = target.cancel(options)

    expectEqual(preview, receipt)
    expectEqual(again, preview)
    expectEqual(after, before)
    withExtendedLifetime(keep) {}
  }

  @Test("A token previews as itself", arguments: options)
  func token(options: CancellationOptions) {
    let promise = Promise<Int>()
    promise.onRequestCancel { _ in .continue }
    let token = promise.future.cancelToken()

    let byFuture = promise.future.previewCancel(.doNotForwardIfOthersWaiting)
    let preview = token.previewCancel(options)
    let receipt = token.cancel(options)

    expectEqual(byFuture.effect, .withheld(by: 1))
    expectEqual(preview, receipt)
  }

  @Test("A preview by a token is too late after its future completed")
  func late() {
    let token = Future.succeeded(1).cancelToken()

    expectEqual(token.previewCancel().effect, .tooLate(.succeeded))
  }
}
