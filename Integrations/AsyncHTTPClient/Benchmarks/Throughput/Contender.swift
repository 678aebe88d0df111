import Foundation
import Synchronization

/// A way to load a URL, with a name.
struct Contender {
  let name: String
  let open: () -> Session
}

/// A contender with open connections.
struct Session {
  /// Loads once, and calls the closure with the number of bytes.
  let load: Load
  /// Closes all connections, and waits.
  let close: () -> Void

  typealias Load = @Sendable (@escaping @Sendable (Int) -> Void) -> Void
}

/// The figures of one contender in one round.
struct Figures {
  /// The loads per second.
  let rate: Double
  /// The processor time of one load in this process, in seconds.
  let processorTime: Double
}

extension Contender {
  /// Opens the connections, and loads `count` times after a warm-up. Another size ends the program, such as that of an error page.
  func measure(_ count: Int, _ concurrency: Int, size: Int) -> Figures {
    let session = open()
    defer { session.close() }
    _ = session.measure(count / 4, concurrency, size)
    return session.measure(count, concurrency, size)
  }
}

extension Session {
  fileprivate func measure(_ count: Int, _ concurrency: Int, _ size: Int) -> Figures {
    let run = Run(count, size, load)
    let start = clock()  // The processor time of all threads.
    let elapsed = ContinuousClock().measure {
      for _ in 0..<concurrency { run.next() }
      run.done.wait()
    }
    return Figures(
      rate: Double(count) / (elapsed / .seconds(1)),
      processorTime: Double(clock() - start) / Double(CLOCKS_PER_SEC) / Double(count))
  }

  private final class Run: Sendable {
    let done = DispatchSemaphore(value: 0)
    private let left: Atomic<Int>
    private let unfinished: Atomic<Int>
    private let size: Int
    private let load: Load

    init(_ count: Int, _ size: Int, _ load: @escaping Load) {
      left = Atomic(count)
      unfinished = Atomic(count)
      self.size = size
      self.load = load
    }

    func next() {
      guard left.subtract(1, ordering: .relaxed).newValue >= 0 else { return }
      load { [self] count in
        guard count == size else { fatalError("A body has \(count) bytes, and not \(size).") }
        if unfinished.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { done.signal() } else { next() }
      }
    }
  }
}
