import TestSupport
import Testing

@Suite("Model: mistakes that the harness finds")
struct ModelHarnessTests {
  @Test("A wrong model is found, and the program shrinks to few operations", arguments: ContractModel.Mistake.allCases)
  func caught(mistake: ContractModel.Mistake) throws {
    var tally = LawTally()
    let isDifferent = { (program: [ModelOperation]) in
      var tally = LawTally()
      let difference = ModelRun.difference(in: program, mistake: mistake, tally: &tally)
      return difference != nil
    }

    let program = try #require((0..<2_000).lazy.map { ProgramGenerator.program(seed: $0) }.first(where: isDifferent))
    let shrunk = Shrinker(isDifferent: isDifferent).shrink(program)

    #expect(shrunk.count <= 8, "\(SwiftReproduction(program: shrunk))")
    #expect(ModelRun.difference(in: shrunk, tally: &tally) == nil)
  }

  @Test("A seed always gives the same program")
  func seeds() {
    let programs = (0..<50).map { ProgramGenerator.program(seed: $0) }

    expectEqual(programs, (0..<50).map { ProgramGenerator.program(seed: $0) })
    expectEqual(Set(programs).count, 50)
  }

  @Test("The shrinker deletes an operation with its dependents, and renumbers the rest")
  func renumbers() {
    let request = ModelRequest(options: [], reason: 1)
    let program: [ModelOperation] = [
      .makePromise, .makePromise, .takeToken(0), .takeToken(1), .cancelToken(1, request), .dropToken(0),
    ]

    let shrunk = Shrinker { $0.contains(.makePromise) && $0.contains { $0 == .cancelToken(0, request) } }
      .shrink(program)

    expectEqual(shrunk, [.makePromise, .takeToken(0), .cancelToken(0, request)])
  }

  @Test("The shrinker bypasses an operator whose dependents are needed")
  func bypasses() {
    let map = { (upstream: Int) in
      ModelOperation.derive(.map, from: upstream, body: .success(7), isOnExecutor: false, act: nil)
    }
    let delayed = ModelOperation.derive(.delayed, from: 1, body: .success(7), isOnExecutor: false, act: nil)

    let shrunk = Shrinker { $0.contains(.makePromise) && $0.contains { $0.isShare } }
      .shrink([.makePromise, map(0), delayed, map(3), .share(4)])

    expectEqual(shrunk, [.makePromise, .share(0)])
  }

  @Test("A reproduction is Swift code")
  func reproduction() {
    let program: [ModelOperation] = [
      .makePromise, .derive(.map, from: 0, body: .success(7), isOnExecutor: true, act: nil),
      .derive(.onComplete, from: 1, body: .success(8), isOnExecutor: false, act: nil),
      .cancel(1, ModelRequest(options: [.polite, .force], reason: 3)),
    ]

    expectEqual(
      SwiftReproduction(program: program).description,
      """
      let (executor, clock) = (ManualExecutor(), ManualClock())
      var p0: Promise<Int>? = Promise<Int>()
      let f0 = p0!.future
      let f1 = f0.map(on: executor.executor) { print("body 1", $0); return 7 }
      let f2 = f1.onComplete { v -> Completion<Int> in print("body 2", v); return .success(8) }
      print(f1.cancel([.doNotForwardIfOthersWaiting, .forceImmediately], reason: "3"))
      """)
  }
}

extension ModelOperation {
  fileprivate var isShare: Bool {
    if case .share = self { true } else { false }
  }
}
