import Foundation
import FutureTree

/// A few threads, and a queue of jobs before them.
///
/// A request to cancel takes a job out of the queue, where it completes `.cancelled` at once and never begins. A job that
/// runs cannot be interrupted: it hears of the request through its token, and completes when it has come to an end.
final class WorkerPool: @unchecked Sendable {  // Because: `condition` guards `jobs`, `lastID` and `isClosed`.
  private struct Job {
    let id: Int
    let run: @Sendable () -> Void
  }

  private let condition = NSCondition()
  private var jobs: [Job] = []
  private var lastID = 0
  private var isClosed = false

  init(threads: Int) {
    for _ in 0..<threads { Thread.detachNewThread { [self] in work() } }
  }

  /// Lets the threads end when the queue is empty.
  func close() {
    condition.withLock { isClosed = true }
    condition.broadcast()
  }

  /// Runs `body` on one of the threads when it is its turn.
  func run<Value>(_ body: @escaping @Sendable (CancellationToken) throws -> Value) -> Future<Value> {
    let (promise, stop) = (Promise<Value>(), CancellationTokenSource())
    let id = enqueue {
      do {
        promise.succeed(try body(stop.token))
      } catch let cancelled as FutureCancelled {
        promise.completeCancelled(cancelled.reason)
      } catch {
        promise.fail(error)
      }
    }
    promise.onRequestCancel { [self] request in
      if leave(id) { return .complete(.cancelled(request.reason)) }
      stop.cancel(reason: request.reason)
      return .continue
    }
    return promise.future
  }

  private func enqueue(_ body: @escaping @Sendable () -> Void) -> Int {
    defer { condition.signal() }
    return condition.withLock {
      lastID += 1
      jobs.append(Job(id: lastID, run: body))
      return lastID
    }
  }

  /// Takes a job out of the queue. Returns false if it has begun.
  private func leave(_ id: Int) -> Bool {
    let job = condition.withLock {
      jobs.firstIndex { $0.id == id }.map { jobs.remove(at: $0) }
    }
    return job != nil  // It is freed here, not under the lock.
  }

  private func work() {
    while let job = next() { job.run() }
  }

  private func next() -> Job? {
    condition.withLock {
      while jobs.isEmpty, !isClosed { condition.wait() }
      return jobs.isEmpty ? nil : jobs.removeFirst()
    }
  }
}
