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
    #expect(zipped.state == "pending")
    number.succeed(1)

    let typed: Future<(Int, String, [Bool])> = zipped
    #expect(typed.state == #"success((1, "two", [true]))"#)
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
      #expect(zipped.isCompleted && census.alive == 2)
    }

    #expect(census.alive == 0)
  }
}
