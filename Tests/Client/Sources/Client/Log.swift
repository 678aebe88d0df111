import FutureTree
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Prints the result of a check at once, so that it is not lost if the program crashes.
func show(_ result: String) {
  print(result)
  fflush(nil)
}

/// The lines that one check has written.
final class Log: Sendable {
  private let lines = Mutex<[String]>([])

  func callAsFunction(_ line: String) { lines.withLock { $0.append(line) } }

  var text: String { lines.withLock { $0.joined(separator: ", ") } }
}

struct Fault: Error, CustomStringConvertible {
  let number: Int

  var description: String { "fault \(number)" }
}

extension Outcome {
  /// The outcome without the place of a cancellation.
  var text: String {
    switch self {
    case .success(let value): "success \(value)"
    case .failure(let error): "failure \(error)"
    case .cancelled(let reason): "cancelled \(reason.message)"
    }
  }
}

extension Future {
  var text: String { outcomeIfCompleted.map(\.text) ?? "pending" }
}
