import Foundation
import FutureTree
import FutureTreeHTTP
import FutureTreeHTTPTesting

@testable import FutureTreeRecording

/// An archive is written and read as an equal one, and answers the requests that it names. Other bytes are an error.
func fuzzArchives(_ bytes: [UInt8]) throws {
  let archive: HTTPArchive
  do { archive = try HTTPArchive(Data(bytes)) } catch let error as InvalidArchive {
    check(!error.reason.isEmpty, "The error has no reason.")
    return
  }
  check(try HTTPArchive(archive.data()) == archive, "The archive is read as another.")
  check("\(archive)" == "HTTPArchive(\(archive.count) requests)", "It prints \(archive).")
  for matching in [HTTPReplayer.Matching(), strict] {
    let replayer = HTTPReplayer(archive, matching: matching)
    check(replayer.unused.count == archive.count, "\(replayer.unused.count) entries are unused.")
    for summary in replayer.unused {
      let parts = summary.split(separator: " ", maxSplits: 1)
      guard parts.count == 2, let request = try? HTTPRequest(String(parts[1])) else { continue }
      guard let outcome = replayer.load(request).outcomeIfCompleted else { fail("The load of \(summary) waits.") }
      if case .failure(let error) = outcome { check(!"\(error)".isEmpty, "The error has no text.") }
    }
  }
}

private let strict: HTTPReplayer.Matching = {
  var matching = HTTPReplayer.Matching()
  (matching.headers, matching.body) = (["Accept"], true)
  return matching
}()
