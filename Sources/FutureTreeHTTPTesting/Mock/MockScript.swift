import FutureTree
import FutureTreeHTTP

/// What a mock was told and what it has seen, as a value. Pure: takes no lock, calls no closure.
///
/// # Invariants
/// 1. `active` has the stubs that have answers left, in the order in which they were made; not the default answer.
/// 2. What is taken out is returned, so that nothing of a user is freed here.
struct MockScript {
  struct Stub {
    let matcher: RequestMatcher
    let place: String
    /// Those that are left.
    var answers: [MockAnswer]
    /// How many answers are to be given; one that is for ever counts as one.
    let expected: Int
    var given = 0
    var requests: [HTTPRequest] = []
    var held: [HeldAnswer] = []
  }

  private(set) var stubs: [Stub] = []
  private var active: [Int] = []
  /// The stub of the default answer.
  private(set) var fallback: Int?

  private(set) var requests: [HTTPRequest] = []
  private(set) var unexpectedRequests: [UnexpectedRequest] = []
  var cancelRequests: [MockLoader.ReceivedCancel] = []

  /// Returns the number of the stub.
  mutating func add(_ matcher: RequestMatcher, _ answers: [MockAnswer], fileID: String, line: UInt) -> Int {
    active.append(stubs.count)
    let expected = answers.reduce(0) { $0 + ($1.count ?? 1) }
    stubs.append(Stub(matcher: matcher, place: "\(fileID):\(line)", answers: answers, expected: expected))
    return stubs.count - 1
  }

  /// The stub for requests that no other is for. Nobody expects it to be used.
  mutating func setFallback(_ answers: [MockAnswer], fileID: String, line: UInt) -> Int {
    fallback = stubs.count
    stubs.append(Stub(matcher: .any, place: "\(fileID):\(line)", answers: answers, expected: 0))
    return stubs.count - 1
  }

  /// The next stub that has answers left.
  func next(after number: Int) -> (number: Int, matcher: RequestMatcher)? {
    active.first { $0 > number }.map { ($0, stubs[$0].matcher) }
  }

  /// Uses one answer of a stub. Returns nil if another load was faster.
  mutating func claim(_ number: Int, for request: HTTPRequest) -> MockAnswer? {
    guard let answer = stubs[number].answers.first else { return nil }
    if let rest = answer.usedOnce() {
      stubs[number].answers[0] = rest
    } else {
      stubs[number].answers.removeFirst()
    }
    if stubs[number].answers.isEmpty, let index = active.firstIndex(of: number) { active.remove(at: index) }
    stubs[number].given += 1
    stubs[number].requests.append(request)
    requests.append(request)
    return answer
  }

  mutating func addHeld(_ held: HeldAnswer, to number: Int) {
    stubs[number].held.append(held)
  }

  /// A request that no stub is for: says why.
  mutating func unexpected(_ request: HTTPRequest, mismatches: [Int: String]) -> UnexpectedRequest {
    requests.append(request)
    let error = UnexpectedRequest(
      request: request.description,
      mismatches: stubs.indices.map { "\(stubs[$0].title): \(mismatches[$0] ?? "all its answers are used")" })
    unexpectedRequests.append(error)
    return error
  }

  /// How many answers were not given yet; one that is for ever counts until it was given once.
  var unusedAnswers: Int { stubs.reduce(0) { $0 + $1.unusedAnswers } }

  var verificationError: MockVerificationError? {
    let unused = stubs.filter { $0.unusedAnswers > 0 }
    guard !unused.isEmpty || !unexpectedRequests.isEmpty else { return nil }
    return MockVerificationError(
      unusedStubs: unused.map { "\($0.title): \($0.usage)" }, unexpectedRequests: unexpectedRequests)
  }
}

extension MockScript.Stub {
  /// How many of its answers were not given yet.
  var unusedAnswers: Int { max(0, expected - given) }

  var title: String { "\(matcher), created at \(place)" }

  var usage: String { given == 0 ? "never used" : "\(given) of \(expected) answers given" }
}
