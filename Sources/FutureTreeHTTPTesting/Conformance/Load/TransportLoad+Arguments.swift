import FutureTree

extension TransportLoad {
  /// Runs what the arguments of a program select, and prints the reports.
  ///
  /// ```swift
  /// let load = TransportLoad("MyTransport") { MyTransport() }
  /// exit(await load.run(arguments: Array(CommandLine.arguments.dropFirst())))
  /// ```
  ///
  /// | argument | run |
  /// | --- | --- |
  /// | `--cancelled COUNT` | `run(cancelled:)` |
  /// | `--mixed COUNT` | `run(mixed:)` |
  /// | `--minutes COUNT` | `run(for:)` |
  ///
  /// Several runs are made in the order of the arguments.
  ///
  /// - Parameter arguments: The arguments of the program, without its name.
  /// - Returns: The exit code of the program: 0 if all reports are clean, 1 if one is not or a run could not begin, and 64 if the
  ///   arguments are invalid.
  public func run(arguments: [String]) async -> Int32 {
    guard !arguments.isEmpty, arguments.count.isMultiple(of: 2) else { return refuse() }
    var runs: [@Sendable () async throws -> Report] = []
    for index in stride(from: 0, to: arguments.count, by: 2) {
      guard let count = Int(arguments[index + 1]), count > 0 else { return refuse() }
      switch arguments[index] {
      case "--cancelled": runs.append { try await run(cancelled: count) }
      case "--mixed": runs.append { try await run(mixed: count) }
      case "--minutes": runs.append { try await run(for: .seconds(60 * count)) }
      default: return refuse()
      }
    }
    var code: Int32 = 0
    for run in runs {
      do {
        let report = try await run()
        print(report)
        if !report.isClean { code = 1 }
      } catch {
        print("The run failed: \(error)")
        code = 1
      }
    }
    return code
  }

  private func refuse() -> Int32 {
    print(
      "The arguments are invalid. Pass one or more of `--cancelled COUNT`, `--mixed COUNT` and `--minutes COUNT`, with counts "
        + "above 0.")
    return 64
  }
}
