import Dispatch
import FutureTree
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Control-C as an event. While this object lives, control-C does not end the process.
package final class ControlC: @unchecked Sendable {  // Because: `signals` is not used after `init`.
  private let signals: any DispatchSourceSignal
  private let watching = Promise<Void>()
  private let presses = Atomic(0)

  /// Calls `onPress` with 1 for the first control-C, 2 for the second, and so on. The calls are serial.
  package init(_ onPress: @escaping @Sendable (Int) -> Void) {
    signal(SIGINT, SIG_IGN)
    signals = DispatchSource.makeSignalSource(signal: SIGINT, queue: DispatchQueue(label: "ControlC"))
    signals.setRegistrationHandler { [watching] in watching.succeed() }
    signals.setEventHandler { [weak self] in
      if let self { onPress(presses.add(1, ordering: .relaxed).newValue) }
    }
    signals.activate()
  }

  /// Completes when every later control-C will be reported.
  package var isWatching: Future<Void> { watching.future }

  package var wasPressed: Bool { presses.load(ordering: .relaxed) > 0 }

  /// The exit code that a shell expects after control-C: 128 plus the number of the signal.
  package static let exitCode: Int32 = 130
}
