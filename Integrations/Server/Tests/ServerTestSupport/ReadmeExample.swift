import Foundation

/// Returns whether the README has a code block that equals the lines between `// Begin` and `// End` of a test.
package func readmeHasExample(of file: String) throws -> Bool {
  let source = try String(contentsOfFile: file, encoding: .utf8)
  let readme = URL(fileURLWithPath: file).appendingPathComponent("../../../README.md").standardized
  let parts = source.components(separatedBy: "    // Begin\n").dropFirst()
  guard let part = parts.first else { return false }
  let compiled = part.components(separatedBy: "    // End\n")[0]
    .split(separator: "\n", omittingEmptySubsequences: false).map { $0.dropFirst(4) }.joined(separator: "\n")
  return try String(contentsOf: readme, encoding: .utf8).contains("```swift\n\(compiled)```")
}
