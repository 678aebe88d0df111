// A tree of futures over time, as a web page that shows one step at a time.
//
//   swift run TreeInspector                         writes tree.html to the temporary directory, and prints its path
//   swift run TreeInspector page.html               writes the page to this path
//   swift run TreeInspector --svg docs/tree.svg     writes one drawing: a tree with one cancelled branch
//
// The example shows: `FutureLog` records the events of a tree, with times from a `ManualClock`. The example uses no other
// information about the futures. From the events it derives which future has interest in which other future after each step.
// It draws each state and writes one file that needs no server and no library.
//
// The page has eight steps, which the buttons, the arrow keys or the fragment of the URL select. They show a request that
// stops at a shared future, and a second request that is withheld and delivered when the last consumer withdraws. They also
// show a handler that answers `.continue`, force, and futures that bodies return. Without JavaScript the page is a list of
// the events.
//
// The program waits for nothing. The files have the same bytes in every run.

import Foundation
import FutureTree

@main struct TreeInspector {
  static func main() {
    let arguments = Array(CommandLine.arguments.dropFirst())
    switch (arguments.first, arguments.count) {
    case ("--svg", 2): write(picture(), to: arguments[1])
    case (let path?, 1) where !path.hasPrefix("-"): write(page(), to: path)
    case (nil, _):
      write(page(), to: FileManager.default.temporaryDirectory.appendingPathComponent("tree.html").path)
    default:
      print("usage: TreeInspector [page.html | --svg picture.svg]")
      exit(64)
    }
  }

  private static func page() -> String {
    Page(title: "A tree of futures, step by step", Stage.mail().moments).html
  }

  private static func picture() -> String {
    let history = Picture.history(of: Stage.blog().moments)
    guard let last = history.last else { return "" }
    // Only the last picture is shown, so the layout needs no room for earlier texts.
    let title =
      "The user and the posts have succeeded. The comments on the second of three posts were cancelled, and their connection "
      + "was closed; the others are pending."
    return Drawing(last, Drawing.layout(of: [last]), title: title).svg(isAlone: true)
  }

  /// Writes the file and prints its path, or ends the program with the error.
  private static func write(_ text: String, to path: String) {
    do {
      try Data(text.utf8).write(to: URL(fileURLWithPath: path))
      print(path)
    } catch {
      let reason = isDirectory(path) ? "It is a directory." : error.localizedDescription
      let message = "TreeInspector: \(path) cannot be written. \(reason) Pass the path of a file.\n"
      FileHandle.standardError.write(Data(message.utf8))
      exit(73)  // EX_CANTCREAT
    }
  }

  private static func isDirectory(_ path: String) -> Bool {
    var isDirectory: ObjCBool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory.boolValue
  }
}
