import FutureTree
import TestSupport
import Testing

@Suite("Operators: zip")
struct ZipTests {
  @Test("zip succeeds with a tuple of values of different types")
  func values() {
    let (number, text) = (Promise<Int>(), Promise<String>())
    let zipped = Future.zip(number.future, text.future, Future.succeeded([true]))

    text.succeed("two")
    expectEqual(zipped.state, "pending")
    number.succeed(1)

    let typed: Future<(Int, String, [Bool])> = zipped
    expectEqual(typed.state, #"success((1, "two", [true]))"#)
  }

  @Test("The values of up to 12 futures keep their order", arguments: [false, true])
  func manyValues(isPending: Bool) {
    let begin = Promise<Void>()
    if !isPending { begin.succeed() }
    func number(_ number: Int) -> Future<Int> { begin.future.map { number } }
    func text(_ number: Int) -> Future<String> { begin.future.map { "\(number)" } }

    let four = Future.zip(number(1), text(2), number(3), text(4))
    let five = Future.zip(number(1), text(2), number(3), text(4), number(5))
    let seven = Future.zip(number(1), text(2), number(3), text(4), number(5), text(6), number(7))
    let twelve = Future.zip(
      number(1), text(2), number(3), text(4), number(5), text(6), number(7), text(8), number(9), text(10), number(11),
      text(12))
    begin.succeed()

    expectEqual(four.state, #"success((1, "2", 3, "4"))"#)
    expectEqual(five.state, #"success((1, "2", 3, "4", 5))"#)
    expectEqual(seven.state, #"success((1, "2", 3, "4", 5, "6", 7))"#)
    expectEqual(twelve.state, #"success((1, "2", 3, "4", 5, "6", 7, "8", 9, "10", 11, "12"))"#)
  }

  @Test("A failure or a cancellation of each of six futures decides", arguments: 0..<6)
  func manyInputs(decider: Int) {
    for outcome in [Outcome<Int>.failure(Oops()), .cancelled("gone")] {
      let promises = (0..<6).map { _ in Promise<Int>() }
      let inputs = promises.map(\.future)
      let zipped = Future.zip(inputs[0], inputs[1], inputs[2], inputs[3], inputs[4], inputs[5])

      promises[decider].complete(with: outcome)

      expectEqual(zipped.outcomeIfCompleted?.ending, outcome.ending)
      #expect(promises.enumerated().allSatisfy { ($1.cancelRequest != nil) == ($0 != decider) })
    }
  }

  @Test("The first failure decides")
  func failure() {
    let zipped = Future.zip(Promise<Int>().future.named("never"), Future<String>.failed(Oops()))

    #expect(zipped.state == "failure(oops)" || zipped.outcomeIfCompleted?.error is BrokenPromise)
  }

  @Test("The values of a zip are released with it")
  func releases() {
    let census = Census()
    do {
      let zipped = Future.zip(Future.succeeded(census.probe()), Future.succeeded(census.probe()))
      #expect(zipped.isCompleted)
      expectEqual(census.alive, 2)
      let probes = (0..<6).map { _ in Future.succeeded(census.probe()) }
      let six = Future.zip(probes[0], probes[1], probes[2], probes[3], probes[4], probes[5])
      #expect(six.isCompleted)
      expectEqual(census.alive, 8)
    }

    expectEqual(census.alive, 0)
  }
}
