import Dispatch

/// Threads for tests that depend on real time.
///
/// On Swift's pool, a test continues only after all jobs queued before it, which may take seconds. Meanwhile a time limit of
/// the platform may pass by accident, or an idle connection may be closed.
///
/// Exit tests need these threads as well: Swift Testing polls with a whole processor until the test has reaped its process.
package final class OwnThreads: TaskExecutor {
  package static let shared = OwnThreads()

  private let queue = DispatchQueue(label: "OwnThreads", attributes: .concurrent)

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
