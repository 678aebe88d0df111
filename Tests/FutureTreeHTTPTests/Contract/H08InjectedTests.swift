import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTesting
import HTTPTestSupport
import TestSupport
import Testing

@Suite("H8: injected time and randomness", .tags(.h08))
struct H08InjectedTests {
  @Test(
    "No file except the wall clock reads a clock, sleeps or creates random values",
    arguments: ["FutureTreeHTTP", "FutureTreeHTTPStore", "FutureTreeOAuth2", "FutureTreeRecording"])
  func sources(module: String) throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Sources/\(module)")
    let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
      .compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" && $0.lastPathComponent != "WallClock.swift" }
    let forbidden = ["Date()", "Date.now", "DispatchTime", "asyncAfter", "Task.sleep", "ContinuousClock", "UUID("]

    var found: [String] = []
    for file in files {
      let text = try String(contentsOf: file, encoding: .utf8)
      found += forbidden.filter(text.contains).map { "\(file.lastPathComponent): \($0)" }
      found += text.split(separator: "\n").filter { $0.contains(".random(") && !$0.contains("using:") }
        .map { "\(file.lastPathComponent): \($0)" }
    }

    #expect(files.count > 4)
    expectEqual(found, [])
  }

  @Test("The drain timeout of a reset uses the injected clock")
  func drainTimeout() {
    let clock = ManualClock()
    let mock = MockLoader()
    let api = Autocancel(drainTimeout: .seconds(60), clock: clock) --> mock
    let held = mock.hold(whenCancelled: .ignore)
    let load = api.load(anyRequest())
    _ = api.reset()

    clock.advance(by: .seconds(60))

    expectEqual(load.text, "cancelled")
    expectEqual(clock.timerCount, 0)
    withExtendedLifetime(held) {}
  }
}
