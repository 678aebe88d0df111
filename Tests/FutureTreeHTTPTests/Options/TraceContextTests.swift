import FutureTreeHTTP
import FutureTreeHTTPTesting
import TestSupport
import Testing

@Suite("The context of a trace")
struct TraceContextTests {
  private let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
  private let span = "00f067aa0ba902b7"

  @Test(
    "A context is read and written according to W3C",
    arguments: [("00", false), ("01", true), ("03", true), ("fe", false)])
  func reading(flags: String, isSampled: Bool) throws {
    let context = try #require(TraceContext(traceparent: "00-\(trace)-\(span)-\(flags)", tracestate: "a=1,b=2"))

    expectEqual(context.traceID, trace)
    expectEqual(context.spanID, span)
    expectEqual(context.state, "a=1,b=2")
    expectEqual(context.isSampled, isSampled)
    expectEqual(context.traceparent, "00-\(trace)-\(span)-\(isSampled ? "01" : "00")")
  }

  @Test("A later version is read as far as it is known")
  func laterVersions() {
    expectEqual(TraceContext(traceparent: "cc-\(trace)-\(span)-01")?.spanID, span)
    expectEqual(TraceContext(traceparent: "cc-\(trace)-\(span)-01-what-comes")?.spanID, span)
    #expect(TraceContext(traceparent: "cc-\(trace)-\(span)-01.what") == nil)
  }

  @Test("Invalid contexts are refused")
  func refused() {
    let zeros = String(repeating: "0", count: 32)
    let refused = [
      "", "00", "00-\(trace)-\(span)-0", "00-\(trace)-\(span)-01-", "00-\(trace)-\(span)-01-a",
      "ff-\(trace)-\(span)-01",
      "00-\(zeros)-\(span)-01", "00-\(trace)-\(zeros.prefix(16))-01", "00-\(trace.uppercased())-\(span)-01",
      "00_\(trace)-\(span)-01", "00-\(trace)_\(span)-01", "00-\(trace)-\(span)_01", "00-\(trace)-\(span)-0g",
      "00-\(trace)\(span)--01", " 00-\(trace)-\(span)-1", "00-\(trace)-\(span)-é",
    ]

    expectEqual(refused.filter { TraceContext(traceparent: $0) != nil }, [])
  }

  @Test("An invalid or overlong state is omitted")
  func states() {
    func state(_ text: String) -> String? {
      TraceContext(traceparent: "00-\(trace)-\(span)-01", tracestate: text)?.state
    }

    #expect(state("") == nil && state("a=1\r\nX: y") == nil && state("a=é") == nil)
    #expect(state((1...33).map { "a\($0)=1" }.joined(separator: ",")) == nil)
    #expect(state((1...32).map { "a\($0)=1" }.joined(separator: ",")) != nil)
  }

  @Test("Identifiers are random and never all zero")
  func identifiers() {
    let random = RandomSource.seeded(1)
    let root = TraceContext.root(random: random)
    let child = root.child(random: random)
    let zero = TraceContext.root(random: .constant(0))

    expectEqual(TraceContext(traceparent: root.traceparent), root)
    #expect(root.isSampled)
    expectEqual(child.traceID, root.traceID)
    #expect(child.spanID != root.spanID)
    #expect(root != TraceContext.root(random: random))
    expectEqual(TraceContext(traceparent: zero.traceparent), zero)
    #expect(TraceContext(traceparent: zero.child(random: .constant(0)).traceparent) != nil)
  }
}
