#if !(os(macOS) || os(Linux))
  import Foundation

  /// Replaces Foundation's class on platforms without processes. The example compiles there, and `run()` fails.
  final class Process: @unchecked Sendable {  // Because: no property is set after `run()`.
    enum TerminationReason { case exit, uncaughtSignal }

    var executableURL: URL?
    var arguments: [String]?
    var standardInput: Any?
    var standardOutput: Any?
    var terminationHandler: (@Sendable (Process) -> Void)?
    let (isRunning, processIdentifier, terminationStatus) = (false, Int32(0), Int32(0))
    let terminationReason = TerminationReason.exit

    func run() throws { throw CocoaError(.featureUnsupported) }
    func terminate() {}
  }
#endif
