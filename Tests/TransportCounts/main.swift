// Counts the descriptors, threads and memory that a transport leaves after many loads. Ends with 1 if something is left.
//
//   swift run TransportCounts --cancelled 10000
//   swift run TransportCounts --minutes 10
//   swift run TransportCounts --curl --minutes 10   # CurlLoader, on Linux

import Foundation
import FutureTreeHTTP
import FutureTreeHTTPTesting

var arguments = Array(CommandLine.arguments.dropFirst())
var load = TransportLoad("URLSessionLoader") { URLSessionLoader(.init(timeout: nil)) }
#if os(Linux)
  if arguments.first == "--curl" {
    arguments.removeFirst()
    load = TransportLoad("CurlLoader") { CurlLoader(.init(timeout: nil)) }
  }
#endif
exit(await load.run(arguments: arguments))
