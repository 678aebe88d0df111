#if FUTURETREE_EXPLORER && canImport(Glibc)
  @testable import FutureTree

  /// One call that a thread makes on a stage.
  struct StageOperation: Sendable {
    let name: String
    var needsChild = false
    var needsTokens = false
    /// - Parameter label: a name for what it finds out.
    let run: @Sendable (_ stage: Stage, _ label: String) -> Void

    /// The four ways to ask.
    private static let options: [(name: String, options: CancellationOptions)] = [
      ("all", []), ("if others", .doNotForwardIfOthersWaiting), ("here", .doNotForwardRequest),
      ("force", .forceImmediately),
    ]

    static let all: [StageOperation] = completing + asking + wanting

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

    private static let wanting = [
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
    /// Those that make sense in a setting.
    static func all(in setting: Stage.Setting) -> [StageOperation] {
      all.filter { (setting.child != .none || !$0.needsChild) && (setting.hasTokens || !$0.needsTokens) }
    }

    /// The scenarios in which so many threads do one of these operations each.
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

    /// What is asked of the child, or attached, comes to one future after the other.
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
      law: "12: a propagation comes to one future after the other, and 1: each decides for itself what came first"
    ) { outcome, sequential in
      outcome.isSequential(sequential) { name in name.prefix { $0 != "/" } }
    }

    static let bodyWasRunning = Scenario.Extra(
      law: "4 and 5: a body that runs at that moment goes on, and its future is cancelled already"
    ) { outcome, sequential in
      outcome["child/body"] == "called"
        && outcome.isSequential(sequential) { name in name == "child/body" ? name[...] : name.prefix { $0 != "/" } }
    }
  }

  extension Scenario.Extra {
    static let askedRecoverPasses = Scenario.Extra(
      law: "11: `recover` that was asked before its body began passes the failure, wherever the request is by then"
    ) { outcome, _ in
      outcome["child/body"] == "-" && ["failed", "broken"].contains(outcome["parent"])
        && outcome["child"] == outcome["parent"]
    }
  }

  extension TrialOutcome {
    /// Whether each group of facts is as in one of the sequential orders.
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
