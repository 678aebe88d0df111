import Foundation
import FutureTree

/// A fixed number of threads with a queue of jobs.
///
/// A cancellation request removes a queued job from the queue. The job completes `.cancelled` at once and never begins. A
/// running job cannot be interrupted: its token reports the request, and its future completes when the job returns.
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

  /// Ends the threads when the queue is empty.
  func close() {
    condition.withLock { isClosed = true }
    condition.broadcast()
  }

  /// Runs `body` on one of the threads when earlier jobs have begun.
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

  /// Removes a job from the queue. Returns false if it has begun.
  private func leave(_ id: Int) -> Bool {
    let job = condition.withLock {
      jobs.firstIndex { $0.id == id }.map { jobs.remove(at: $0) }
    }
    return job != nil  // Released here, outside the lock.
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
