import Dispatch

/// Threads for tests in which real time runs.
///
/// On the pool of Swift a test goes on when all that came before have had their turn, and some take seconds. With that in
/// between, a time limit of the platform that nobody meant to reach passes, or an idle connection is closed.
///
/// Exit tests need them as well: Swift Testing polls with a whole processor until the test has reaped its process.
package final class OwnThreads: TaskExecutor {
  package static let shared = OwnThreads()

  private let queue = DispatchQueue(label: "OwnThreads", attributes: .concurrent)

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
