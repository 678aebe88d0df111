import Foundation
import FuzzerDriver

/// Runs one target, named by the first argument. The other arguments are passed to libFuzzer.
@main enum Fuzz {
  static func main() {
    guard CommandLine.argc > 1, let target = CommandLine.unsafeArgv[1].map({ String(cString: $0) }) else {
      fail("Say which target, such as urls.")
    }
    // Removes the name of the target from the arguments of libFuzzer.
    CommandLine.unsafeArgv[1] = CommandLine.unsafeArgv[0]
    var count = CommandLine.argc - 1
    var arguments = CommandLine.unsafeArgv + 1
    switch target {
    case "fields": exit(LLVMFuzzerRunDriver(&count, &arguments) { Fuzz.run($0, $1, fuzzFields) })
    case "urls": exit(LLVMFuzzerRunDriver(&count, &arguments) { Fuzz.run($0, $1, fuzzURLs) })
    case "locations": exit(LLVMFuzzerRunDriver(&count, &arguments) { Fuzz.run($0, $1, fuzzLocations) })
    case "multipart": exit(LLVMFuzzerRunDriver(&count, &arguments) { Fuzz.run($0, $1, fuzzMultipart) })
    case "curl": exit(LLVMFuzzerRunDriver(&count, &arguments) { Fuzz.run($0, $1, fuzzCurl) })
    case "cookies": exit(LLVMFuzzerRunDriver(&count, &arguments) { Fuzz.run($0, $1, fuzzCookies) })
    case "caches": exit(LLVMFuzzerRunDriver(&count, &arguments) { Fuzz.run($0, $1, fuzzCaches) })
    case "files": exit(LLVMFuzzerRunDriver(&count, &arguments) { Fuzz.run($0, $1, fuzzFiles) })
    case "archives": exit(LLVMFuzzerRunDriver(&count, &arguments) { Fuzz.run($0, $1, fuzzArchives) })
    case "dates": exit(LLVMFuzzerRunDriver(&count, &arguments) { Fuzz.run($0, $1, fuzzDates) })
    case "challenges": exit(LLVMFuzzerRunDriver(&count, &arguments) { Fuzz.run($0, $1, fuzzChallenges) })
    case "lines": exit(LLVMFuzzerRunDriver(&count, &arguments) { Fuzz.run($0, $1, fuzzLines) })
    case "pages": exit(LLVMFuzzerRunDriver(&count, &arguments) { Fuzz.run($0, $1, fuzzPages) })
    case "events": exit(LLVMFuzzerRunDriver(&count, &arguments) { Fuzz.run($0, $1, fuzzEvents) })
    default: fail("There is no target \(target).")
    }
  }

  private static func run(_ bytes: UnsafePointer<UInt8>?, _ count: Int, _ body: ([UInt8]) throws -> Void) -> CInt {
    do {
      try body(Array(UnsafeBufferPointer(start: bytes, count: count)))
    } catch {
      fail("It threw \(error).")
    }
    return 0
  }
}

/// Ends the run with a failure that libFuzzer reports together with the input.
func fail(_ message: String) -> Never {
  FileHandle.standardError.write(Data("FAILED: \(message)\n".utf8))
  abort()
}

func check(_ condition: Bool, _ message: @autoclosure () -> String) {
  if !condition { fail(message()) }
}

/// Reads values from random bytes.
struct Input {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) {
    rest = bytes[...]
  }

  var isEmpty: Bool { rest.isEmpty }

  mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

  /// Returns the bytes up to the next 0xFF, which no UTF-8 text contains.
  mutating func bytes() -> [UInt8] {
    let taken = rest.prefix { $0 != 0xFF }
    rest = rest[taken.endIndex...].dropFirst()
    return Array(taken)
  }

  /// Returns the remaining bytes.
  mutating func remaining() -> [UInt8] {
    defer { rest = [] }
    return Array(rest)
  }

  mutating func text() -> String { String(decoding: bytes(), as: UTF8.self) }

  mutating func texts() -> [String] { (0..<byte() % 5).map { _ in text() } }
}
