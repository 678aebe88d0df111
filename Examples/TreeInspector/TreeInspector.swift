// A tree of futures over time, as a web page.
//
//   swift run TreeInspector                          a page of a built-in story
//   swift run TreeInspector log.json -o page.html    a page of a stored log, snapshot or
//                                                  FlightRecording; - reads the standard input
//
// The page is written to `tree.html` in the temporary directory unless `-o` names another file. The program prints its path.
//
// The example shows: `FutureLog` records the events of a tree, with times from a `ManualClock`. `Recording` and `TreeSnapshot` are
// stored as JSON, and `html(title:)` makes a page of them that needs no server and no library.

import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreePictures
import FutureTreeRecording

@main struct TreeInspector {
  static func main() {
    var (inputs, output, arguments) = ([String](), defaultOutput, CommandLine.arguments.dropFirst())
    while let argument = arguments.popFirst() {
      switch argument {
      case "-o":
        guard let path = arguments.popFirst() else { usage() }
        output = path
      case "-": inputs.append(argument)
      case _ where argument.hasPrefix("-"): usage()
      default: inputs.append(argument)
      }
    }
    guard inputs.count < 2 else { usage() }
    write(inputs.first.map(page) ?? Story.mail().html(title: "A mail reader that signs in once"), to: output)
  }

  private static var defaultOutput: String {
    FileManager.default.temporaryDirectory.appendingPathComponent("tree.html").path
  }

  private static func usage() -> Never {
    fail("usage: TreeInspector [log.json | -] [-o page.html]", EX_USAGE)
  }

  /// Returns the page of a stored log or snapshot.
  private static func page(of path: String) -> String {
    let data: Data
    do {
      data =
        path == "-" ? FileHandle.standardInput.readDataToEndOfFile() : try Data(contentsOf: URL(fileURLWithPath: path))
    } catch {
      fail(
        "\(path) cannot be read. \(error.localizedDescription) Pass the path of a stored log or snapshot.", EX_NOINPUT)
    }
    let title = path == "-" ? "Futures" : URL(fileURLWithPath: path).lastPathComponent
    do {
      let decoder = JSONDecoder()
      let parts = try decoder.decode([String: Skipped].self, from: data)
      // A log has events, the file of a flight recorder has exchanges, and a snapshot has only futures.
      if parts["events"] != nil { return try decoder.decode(FutureLog.Recording.self, from: data).html(title: title) }
      if parts["exchanges"] != nil { return try FlightRecording(data).futures.html(title: title) }
      return try decoder.decode(TreeSnapshot.self, from: data).html(title: title)
    } catch {
      fail(
        "\(path) is neither a log nor a snapshot. \(error) Encode a FutureLog.Recording or a TreeSnapshot.", EX_DATAERR)
    }
  }

  /// A part of a file that is not decoded.
  private struct Skipped: Decodable {
    init(from decoder: any Decoder) {}
  }

  /// Writes the file and prints its path.
  private static func write(_ text: String, to path: String) {
    do {
      try Data(text.utf8).write(to: URL(fileURLWithPath: path))
      print(path)
    } catch {
      var isDirectory: ObjCBool = false
      let isFolder = FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory.boolValue
      let reason = isFolder ? "It is a directory." : error.localizedDescription
      fail("\(path) cannot be written. \(reason) Pass the path of a file.", EX_CANTCREAT)
    }
  }

  private static func fail(_ message: String, _ status: Int32) -> Never {
    FileHandle.standardError.write(Data("TreeInspector: \(message)\n".utf8))
    exit(status)
  }
}
