#if FUTURETREE_EXPLORER && canImport(Glibc)
  @testable import FutureTree

  /// One future, or a parent and a child, for threads to act on.
  final class Stage: @unchecked Sendable {  // Because: an explorer runs one thread at a time.
    /// The futures, handlers and tokens that exist before the threads begin.
    struct Setting {
      enum Child: String, CaseIterable {
        case none, map, flatMap, ensure, recover, onComplete, shielded, all
      }

      /// The answer of the handler of the promise.
      enum Handler: String, CaseIterable {
        case none, continues, cancels
      }

      var child = Child.none
      var handler = Handler.none
      var isShared = false
      /// Whether each future has a token from the beginning.
      var hasTokens = false

      var name: String {
        (child == .none ? "one future" : "parent and \(child)") + (handler == .none ? "" : ", handler \(handler)")
          + (isShared ? ", shared" : "") + (hasTokens ? ", tokens" : "")
      }
    }

    let trial: Trial
    private(set) var promise: Promise<Int>?
    private(set) var inner: Promise<Int>? = Promise()
    let parent: Future<Int>
    private(set) var child: Future<Int>?
    private(set) var parentToken: TokenHolder?
    private(set) var childToken: TokenHolder?

    init(_ trial: Trial, _ setting: Setting) {
      self.trial = trial
      let promise = Promise<Int>()
      self.promise = promise
      parent = trial.watch("parent", promise.future)
      trial.watch("inner", inner!.future)
      if setting.isShared { parent.shared() }
      if setting.handler != .none { install("parent/handler", cancels: setting.handler == .cancels) }
      child = makeChild(setting.child).map { trial.watch("child", $0) }
      guard setting.hasTokens else { return }
      parentToken = trial.token(of: parent)
      childToken = child.map(trial.token)
    }

    private func makeChild(_ kind: Setting.Child) -> Future<Int>? {
      guard kind != .none else { return nil }
      let inner = inner!.future
      // A shield has no body, and neither has a join.
      let body = kind == .shielded || kind == .all ? nil : trial.calls("child/body")
      switch kind {
      case .none: return nil
      case .map:
        return parent.map { (value: Int) in
          body?()
          return value + 10
        }
      case .flatMap:
        return parent.flatMap { (_: Int) in
          body?()
          return inner
        }
      case .ensure: return parent.ensure { body?() }
      case .recover:
        return parent.recoverWith { _ in
          body?()
          return inner
        }
      case .onComplete:
        return parent.onComplete { _ in
          body?()
          return Completion<Int>.completeUsing(inner)
        }
      case .shielded: return parent.shielded()
      case .all: return Future.all([parent, inner]).map { $0.reduce(0, +) }
      }
    }

    // MARK: - Operations of threads

    func install(_ name: String, cancels: Bool) {
      let call = trial.calls(name)
      promise?.onRequestCancel { _ in
        call()
        return cancels ? .complete(.cancelled) : .continue
      }
    }

    func attach(_ name: String, to future: Future<Int>?) {
      guard let future else { return }
      let call = trial.calls("\(name)/body")
      trial.watch(
        name,
        future.map { (value: Int) in
          call()
          return value
        })
    }

    func complete(_ name: String, _ completion: Completion<Int>) {
      guard let promise else { return trial.note(name, "dropped") }
      trial.note(name, "\(promise.complete(completion))")
    }

    func dropPromise() {
      let dropped = promise.take()
      _ = dropped
    }

    func dropInner() {
      let dropped = inner.take()
      _ = dropped
    }
  }
#endif
