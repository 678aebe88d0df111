// Counts the descriptors, threads and memory that `URLSessionLoader` leaves after many loads. Ends with 1 if something is left.
//
//   swift run TransportCounts --cancelled 10000
//   swift run TransportCounts --minutes 10

import Foundation
import FutureTreeHTTP
import FutureTreeHTTPTesting

let load = TransportLoad("URLSessionLoader") { URLSessionLoader(.init(timeout: nil)) }
exit(await load.run(arguments: Array(CommandLine.arguments.dropFirst())))
