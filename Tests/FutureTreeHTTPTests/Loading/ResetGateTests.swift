import FutureTree
import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("The gate of a reset")
struct ResetGateTests {
  private let resets = ["one", "other"].map { ResetNotes($0, SystemClock()) }

  @Test("An open gate admits loads, a closed one does not, and it opens when all resets have ended")
  func opens() {
    var gate = ResetGate()

    let admitted = [gate.loadBegins()]
    _ = (gate.loadEntered(), gate.loadEnded())
    let waits = resets.map { gate.close($0) != nil }
    let refused = [gate.loadBegins()]
    gate.open(resets[0])
    let stillClosed = !gate.isOpen
    gate.open(resets[1])

    #expect(admitted == [true] && refused == [false] && waits == [false, false])
    #expect(stillClosed && gate.isOpen)
  }

  @Test("Those who wait for entering loads wait for the last one that enters")
  func waitsForEntering() throws {
    var gate = ResetGate()
    _ = [gate.loadBegins(), gate.loadBegins()]
    _ = gate.close(resets[0])

    let entered = try #require(gate.waitsForEntering()?.future)
    let first = gate.loadEntered()
    let second = gate.loadEntered()

    #expect(first.isEmpty && second.map(\.future) == [entered])
    #expect(gate.waitsForEntering() == nil)
  }

  @Test("A reset waits for the last admitted load, and an undo during the reset")
  func waitsForEnd() throws {
    var gate = ResetGate()
    _ = (gate.loadBegins(), gate.loadEntered())

    let ended = try #require(gate.close(resets[0])?.future)
    gate.undoBegins()
    _ = gate.loadEntered()
    let first = gate.loadEnded()
    let second = gate.loadEnded()

    #expect(first.isEmpty && second.map(\.future) == [ended])
  }

  @Test("Overlapping resets each wait")
  func overlapping() {
    var gate = ResetGate()
    _ = (gate.loadBegins(), gate.loadEntered())

    let waiting = resets.compactMap { gate.close($0)?.future }

    expectEqual(waiting.count, 2)
    expectEqual(gate.loadEnded().map(\.future), waiting)
  }
}
