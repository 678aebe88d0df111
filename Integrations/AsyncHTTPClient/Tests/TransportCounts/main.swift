// Counts the descriptors, threads and memory that `AsyncHTTPClientLoader` leaves after many loads. Ends with 1 if something is
// left.
//
//   swift run -c release TransportCounts --cancelled 10000
//   swift run -c release TransportCounts --minutes 10

import Foundation
import FutureTreeAsyncHTTPClient
import FutureTreeHTTPTesting
import FutureTreeTransportTesting

let load = TransportLoad("AsyncHTTPClientLoader") { AsyncHTTPClientLoader(.init(timeout: nil)) }
exit(await load.run(arguments: Array(CommandLine.arguments.dropFirst())))
