import FutureTree
import FutureTreeHTTP

/// A layer that holds each request until the test continues it.
final class Pause: HTTPLayer {
  private let held = Locked<[() -> Void]>([])
  private let waiting = Locked(0)

  /// The number of held requests.
  var count: Int { waiting.value }

  func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    let gate = Promise<Void>()
    waiting.withLock { $0 += 1 }
    gate.onRequestCancel { _ in .complete(.cancelled) }
    gate.future.observe { _ in self.waiting.withLock { $0 -= 1 } }
    held.withLock { $0.append({ gate.succeed() }) }
    return gate.future.flatMap { next.load(request) }
  }

  func goOn() {
    let all = held.withLock { held in
      defer { held = [] }
      return held
    }
    for resume in all { resume() }
  }
}

/// A layer that holds each response until the test continues it.
final class AnswerPause: HTTPLayer {
  private let pause = Pause()

  var count: Int { pause.count }

  func load(_ request: HTTPRequest, next: any HTTPLoader) -> Future<HTTPResponse> {
    next.load(request).flatMap { response in
      self.pause.load(request, next: Answered(response: response))
    }
  }

  func goOn() {
    pause.goOn()
  }

  private struct Answered: HTTPLoader {
    let response: HTTPResponse

    func load(_: HTTPRequest) -> Future<HTTPResponse> { .succeeded(response) }

    func reset() -> Future<Void> { .succeeded(()) }
  }
}
