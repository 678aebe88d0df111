// A tree of futures over time, as a page in which you go from step to step.
//
//   swift run TreeInspector                         writes tree.html into the temporary directory, and prints its path
//   swift run TreeInspector page.html               writes the page there
//   swift run TreeInspector --svg docs/tree.svg     writes one picture: a tree with one branch cancelled
//
// What it shows: `FutureLog` records what happens to a tree, with times from a `ManualClock`; nothing else is known here of
// the futures. From its events the example works out who wants what after each step, draws that, and writes one file that
// needs neither a server nor a library.
//
// What you should see in the page: eight steps, by the buttons, the arrow keys or the fragment of the URL. A request that
// stops at a shared future; a second one that is withheld, and delivered when the last who wanted the value has left; a
// handler that answers `.continue`; force; and futures that bodies return. Without JavaScript the page is a list of the
// events.
//
// It waits for nothing, and the files have the same bytes in every run.

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
    // Only the last picture is shown, so only that needs room.
    let title =
      "User and posts are there. The comments on the second of three posts were cancelled, and their connection "
      + "was closed; the others are pending."
    return Drawing(last, Drawing.layout(of: [last]), title: title).svg(isAlone: true)
  }

  /// Prints the path, or ends the program with what is wrong with it.
  private static func write(_ text: String, to path: String) {
    do {
      try Data(text.utf8).write(to: URL(fileURLWithPath: path))
      print(path)
    } catch {
      let reason = isDirectory(path) ? "It is a directory." : error.localizedDescription
      let message = "TreeInspector: \(path) cannot be written. \(reason) Give the path of a file.\n"
      FileHandle.standardError.write(Data(message.utf8))
      exit(73)  // EX_CANTCREAT
    }
  }

  private static func isDirectory(_ path: String) -> Bool {
    var isDirectory: ObjCBool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory.boolValue
  }
}
