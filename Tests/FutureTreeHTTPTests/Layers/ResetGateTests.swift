import Testing

@testable import FutureTreeHTTP

@Suite("The gate of a reset")
struct ResetGateTests {
  /// An object with an identity.
  private final class Thing {}

  @Test("An open gate admits loads, a closed one does not, and it opens when the reset has ended")
  func opens() {
    let thing = Thing()
    var gate = ResetGate()

    let load = [gate.loadBegins(), gate.loadEntered()]
    let over = gate.loadEnded()
    let reset = gate.resetAsked(of: ObjectIdentifier(thing))
    let isClosed = !gate.loadBegins()
    let ended = gate.resetEnded(0)

    #expect(load == [true, false] && over == [])
    #expect(reset == .isNew(0, beginsNow: true))
    #expect(isClosed && ended == [0])
    #expect(gate.isOpen)
  }

  @Test("A reset begins when the last admitted load has entered")
  func waitsForEntering() {
    var gate = ResetGate()

    let loads = [gate.loadBegins(), gate.loadBegins()]
    let reset = gate.resetAsked(of: nil)
    let begins = [gate.loadEntered(), gate.loadEntered()]

    #expect(loads == [true, true])
    #expect(reset == .isNew(0, beginsNow: false))
    #expect(begins == [false, true])
  }

  @Test("The gate opens when the reset and the loads have ended, in either order", arguments: [true, false])
  func waitsForLoads(loadFirst: Bool) {
    var gate = ResetGate()
    _ = (gate.loadBegins(), gate.loadEntered(), gate.resetAsked(of: nil))

    let first = loadFirst ? gate.loadEnded() : gate.resetEnded(0)
    let passes = gate.loadBegins()
    let second = loadFirst ? gate.resetEnded(0) : gate.loadEnded()

    #expect(first == [] && !passes && second == [0])
  }

  @Test("A reset of the same chain joins, and one of another chain ends separately")
  func joins() {
    let (one, other) = (Thing(), Thing())
    var gate = ResetGate()

    let arrivals = [one, one, other, one].map { gate.resetAsked(of: ObjectIdentifier($0)) }
    let ends = [gate.resetEnded(1), gate.resetEnded(0)]

    #expect(arrivals == [.isNew(0, beginsNow: true), .joins(0), .isNew(1, beginsNow: true), .joins(0)])
    #expect(ends == [[1], [0]])
  }

  @Test("A reset of an unidentified chain does not join")
  func unknown() {
    var gate = ResetGate()

    let arrivals = [gate.resetAsked(of: nil), gate.resetAsked(of: nil)]

    #expect(arrivals == [.isNew(0, beginsNow: true), .isNew(1, beginsNow: true)])
  }
}
