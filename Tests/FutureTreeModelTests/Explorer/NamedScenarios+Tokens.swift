#if FUTURETREE_EXPLORER && canImport(Glibc)
  @testable import FutureTree

  /// Sources of tokens that are linked, deallocated and cancelled. No registration is lost, and none is retained.
  extension Scenario {
    static let tokens = [
      Scenario("a source is linked while one of its parents is cancelled") { trial in
        let (first, second) = (CancellationTokenSource(), CancellationTokenSource())
        let child = Owned<CancellationTokenSource>()
        trial.thread { child.value = CancellationTokenSource(linkedTo: [first.token, second.token]) }
        trial.thread { first.cancel(reason: "a") }
        trial.thread { withExtendedLifetime(CancellationTokenSource(linkedTo: [second.token])) {} }
        trial.claim { child.value?.isCancelling == true ? nil : "law 13: the link was lost" }
        trial.claim { second.state.listedCount == 0 ? nil : "law 21: a parent retains \(second.state.listedCount)" }
      },
      Scenario("a source is dropped with one parent while the other is cancelled") { trial in
        let (first, second) = (Owned(CancellationTokenSource()), CancellationTokenSource())
        let child = Owned(CancellationTokenSource(linkedTo: [first.value!.token, second.token]))
        let (body, call) = (Counted(), trial.calls("registered", isFact: false))
        child.value!.token.register { [alive = body.new()] _ in withExtendedLifetime(alive) { call() } }
        trial.thread { first.value = nil }
        trial.thread { second.cancel(reason: "a") }
        trial.thread { child.value = nil }
        trial.claim { body.count == 0 ? nil : "law 21: a body is retained" }
        trial.claim { trial.calledNever("registered") ? "the body was lost" : nil }
        trial.claim { second.state.listedCount == 0 ? nil : "law 21: a parent retains a link" }
      },
      Scenario("a source and both its parents are dropped") { trial in
        let (first, second) = (Owned(CancellationTokenSource()), Owned(CancellationTokenSource()))
        let child = Owned(CancellationTokenSource(linkedTo: [first.value!.token, second.value!.token]))
        let body = Counted()
        let registration = child.value!.token.register { [alive = body.new()] _ in withExtendedLifetime(alive) {} }
        trial.thread { first.value = nil }
        trial.thread { second.value = nil }
        trial.thread { child.value = nil }
        trial.claim { body.count == 0 ? nil : "law 21: a body is retained" }
        trial.claim { registration.remove() ? "a registration of a deallocated source was removed" : nil }
      },
      Scenario("a chain of sources is dropped while its last registration is removed") { trial in
        let root = Owned(CancellationTokenSource())
        let middle = Owned(CancellationTokenSource(linkedTo: [root.value!.token]))
        let body = Counted()
        let registration = CancellationTokenSource(linkedTo: [middle.value!.token]).token.register {
          [alive = body.new()] _ in withExtendedLifetime(alive) {}
        }
        trial.thread { root.value = nil }
        trial.thread { middle.value = nil }
        trial.thread { registration.remove() }
        trial.claim { body.count == 0 ? nil : "law 21: a body is retained" }
        trial.claim { registration.state?.listedCount == 0 ? nil : "law 21: something is listed" }
      },
      Scenario("a diamond of sources is cancelled at its top while its sides are dropped") { trial in
        let top = CancellationTokenSource()
        let sides = [0, 1].map { _ in Owned(CancellationTokenSource(linkedTo: [top.token])) }
        let (body, call) = (Counted(), trial.calls("registered", isFact: false))
        CancellationTokenSource(linkedTo: sides.map { $0.value!.token }).token.register {
          [alive = body.new()] _ in withExtendedLifetime(alive) { call() }
        }
        trial.thread { top.cancel(reason: "a") }
        trial.thread { sides[0].value = nil }
        trial.thread { sides[1].value = nil }
        trial.claim { trial.calledNever("registered") ? "the body was lost" : nil }
        trial.claim { body.count == 0 ? nil : "law 21: a body is retained" }
      },
    ]
  }

  /// A reference that a thread of the explorer drops.
  private final class Owned<Value>: @unchecked Sendable {  // Because: an explorer runs one thread at a time.
    var value: Value?

    init(_ value: Value? = nil) {
      self.value = value
    }
  }

  /// A count of live objects.
  private final class Counted: @unchecked Sendable {  // Because: as `Owned`.
    private(set) var count = 0

    func new() -> Object { Object(self) }

    final class Object: @unchecked Sendable {  // Because: as `Owned`.
      private let owner: Counted

      fileprivate init(_ owner: Counted) {
        self.owner = owner
        owner.count += 1
      }

      deinit {
        owner.count -= 1
      }
    }
  }
#endif
