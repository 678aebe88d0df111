#if FUTURETREE_EXPLORER && canImport(Glibc)
  @testable import FutureTree

  /// One call of a thread on a stage.
  struct StageOperation: Sendable {
    let name: String
    var needsChild = false
    var needsTokens = false
    /// - Parameter label: A name for the facts that the call notes.
    let run: @Sendable (_ stage: Stage, _ label: String) -> Void

    /// The options of a request, each with a name.
    private static let options: [(name: String, options: CancellationOptions)] = [
      ("all", []), ("if others", .doNotForwardIfOthersWaiting), ("here", .doNotForwardRequest),
      ("force", .forceImmediately),
    ]

    static let all: [StageOperation] = completing + asking + attaching

    private static let completing = [
      StageOperation(name: "complete") { $0.complete("parent/\($1)", .success(1)) },
      StageOperation(name: "fail") { $0.complete("parent/\($1)", .failure(Failed())) },
      StageOperation(name: "drop promise") { stage, _ in stage.dropPromise() },
      StageOperation(name: "link") { stage, label in
        if let inner = stage.inner { stage.complete("parent/\(label)", .completeUsing(inner.future)) }
      },
      StageOperation(name: "complete inner") { stage, _ in stage.inner?.succeed(2) },
      StageOperation(name: "drop inner") { stage, _ in stage.dropInner() },
    ]

    private static let asking =
      options.flatMap { option in
        [
          StageOperation(name: "cancel parent \(option.name)") { stage, _ in
            stage.parent.cancel(option.options, reason: "parent")
          },
          StageOperation(name: "cancel child \(option.name)", needsChild: true) { stage, _ in
            stage.child?.cancel(option.options, reason: "child")
          },
        ]
      } + [
        StageOperation(name: "ask by parent token", needsTokens: true) { stage, _ in
          stage.parentToken?.cancel(.doNotForwardIfOthersWaiting, reason: "token")
        },
        StageOperation(name: "ask by child token", needsChild: true, needsTokens: true) { stage, _ in
          stage.childToken?.cancel(.doNotForwardIfOthersWaiting, reason: "child token")
        },
      ]

    private static let attaching = [
      StageOperation(name: "install") { $0.install("parent/\($1)", cancels: false) },
      StageOperation(name: "install answer") { $0.install("parent/\($1)", cancels: true) },
      StageOperation(name: "attach to parent") { $0.attach($1, to: $0.parent) },
      StageOperation(name: "attach to child", needsChild: true) { $0.attach($1, to: $0.child) },
      StageOperation(name: "drop parent token", needsTokens: true) { stage, _ in stage.parentToken?.drop() },
      StageOperation(name: "drop child token", needsChild: true, needsTokens: true) { stage, _ in
        stage.childToken?.drop()
      },
    ]

    struct Failed: Error {}
  }

  extension StageOperation {
    /// Returns the operations that apply to a setting.
    static func all(in setting: Stage.Setting) -> [StageOperation] {
      all.filter { (setting.child != .none || !$0.needsChild) && (setting.hasTokens || !$0.needsTokens) }
    }

    /// Returns the scenarios in which each of the given number of threads runs one of these operations.
    static func scenarios(of threadCount: Int, in setting: Stage.Setting) -> [Scenario] {
      let operations = all(in: setting)
      var groups: [[Int]] = [[]]
      for _ in 0..<threadCount {
        groups = groups.flatMap { group in ((group.last ?? 0)..<operations.count).map { group + [$0] } }
      }
      return groups.map { group in
        let chosen = group.map { operations[$0] }
        let name = "\(setting.name): \(chosen.map(\.name).joined(separator: " | "))"
        return Scenario(name: name, extras: extras(of: chosen, in: setting)) { trial in
          let stage = Stage(trial, setting)
          for (index, operation) in chosen.enumerated() {
            trial.thread { operation.run(stage, "thread \(index)") }
          }
        }
      }
    }

    /// Returns the rules for outcomes of requests to the child, and of attached futures: a propagation reaches futures in turn.
    private static func extras(of operations: [StageOperation], in setting: Stage.Setting) -> [Scenario.Extra] {
      var extras: [Scenario.Extra] = []
      let asksChild =
        setting.child == .all || operations.count > 2 && operations.contains { $0.name == "link" }
        || operations.contains { $0.name.contains("child") || $0.name.contains("attach") }
      if asksChild { extras.append(.eachFutureForItself) }
      if operations.contains(where: { $0.name.hasSuffix("child here") || $0.name.hasSuffix("child force") }) {
        extras.append(.bodyWasRunning)
      }
      if asksChild { extras.append(.askedRecoverPasses) }
      return extras
    }
  }

  extension Scenario.Extra {
    static let eachFutureForItself = Scenario.Extra(
      law: "law 12 (diamonds): a propagation reaches futures in turn, and each keeps its first completion"
    ) { outcome, sequential in
      outcome.isSequential(sequential) { name in name.prefix { $0 != "/" } }
    }

    static let bodyWasRunning = Scenario.Extra(
      law: "laws 4 (this future only) and 5 (force): a running body continues after its future is cancelled"
    ) { outcome, sequential in
      outcome["child/body"] == "called"
        && outcome.isSequential(sequential) { name in name == "child/body" ? name[...] : name.prefix { $0 != "/" } }
    }
  }

  extension Scenario.Extra {
    static let askedRecoverPasses = Scenario.Extra(
      law: "law 11 (bodies that have not begun): `recover` that was asked passes the failure, wherever the request is"
    ) { outcome, _ in
      outcome["child/body"] == "-" && ["failed", "broken"].contains(outcome["parent"])
        && outcome["child"] == outcome["parent"]
    }
  }

  extension TrialOutcome {
    /// Whether each group of facts equals the same group of one of the sequential orders.
    fileprivate func isSequential<Group: Hashable>(
      _ sequential: Set<[String]>, groupedBy group: (String) -> Group
    ) -> Bool {
      let groups = names.map(group)
      return Set(groups).allSatisfy { group in
        let indices = groups.indices.filter { groups[$0] == group }
        let found = indices.map { facts[$0] }
        return sequential.contains { order in indices.map { order[$0] } == found }
      }
    }
  }
#endif
