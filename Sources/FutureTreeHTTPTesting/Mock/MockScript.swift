import FutureTree
import FutureTreeHTTP

/// The stubs of a mock and its recorded requests, as a value. Pure: takes no lock, calls no closure.
///
/// # Invariants
/// 1. `active` has the stubs with answers left, in the order in which they were made, without the default answer.
/// 2. Removed values are returned, so that no user object is released here.
struct MockScript {
  struct Stub {
    let matcher: RequestMatcher
    let place: String
    /// The answers that are left.
    var answers: [MockAnswer]
    /// The number of answers to give. An answer that is `forever()` counts as one.
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

  /// Adds a stub and returns its number.
  mutating func add(_ matcher: RequestMatcher, _ answers: [MockAnswer], fileID: String, line: UInt) -> Int {
    active.append(stubs.count)
    let expected = answers.reduce(0) { $0 + ($1.count ?? 1) }
    stubs.append(Stub(matcher: matcher, place: "\(fileID):\(line)", answers: answers, expected: expected))
    return stubs.count - 1
  }

  /// Sets the stub for requests that no other stub matches. It may stay unused.
  mutating func setFallback(_ answers: [MockAnswer], fileID: String, line: UInt) -> Int {
    fallback = stubs.count
    stubs.append(Stub(matcher: .any, place: "\(fileID):\(line)", answers: answers, expected: 0))
    return stubs.count - 1
  }

  /// Returns the next stub that has answers left.
  func next(after number: Int) -> (number: Int, matcher: RequestMatcher)? {
    active.first { $0 > number }.map { ($0, stubs[$0].matcher) }
  }

  /// Uses one answer of a stub. Returns `nil` if concurrent loads used the last one.
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

  /// Records a request that no stub matches, and returns its error with the reasons.
  mutating func unexpected(_ request: HTTPRequest, mismatches: [Int: String]) -> UnexpectedRequest {
    requests.append(request)
    let error = UnexpectedRequest(
      request: request.description,
      mismatches: stubs.indices.map { "\(stubs[$0].title): \(mismatches[$0] ?? "all of its answers have been used")" })
    unexpectedRequests.append(error)
    return error
  }

  /// The number of answers that were not given yet. An answer that is `forever()` counts until it was given once.
  var unusedAnswers: Int { stubs.reduce(0) { $0 + $1.unusedAnswers } }

  var verificationError: MockVerificationError? {
    let unused = stubs.filter { $0.unusedAnswers > 0 }
    guard !unused.isEmpty || !unexpectedRequests.isEmpty else { return nil }
    return MockVerificationError(
      unusedStubs: unused.map { "\($0.title): \($0.usage)" }, unexpectedRequests: unexpectedRequests)
  }
}

extension MockScript.Stub {
  /// The number of answers that were not given yet.
  var unusedAnswers: Int { max(0, expected - given) }

  var title: String { "\(matcher), created at \(place)" }

  var usage: String { given == 0 ? "never used" : "\(given) of \(expected) answers given" }
}
