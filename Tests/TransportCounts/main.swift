// Counts the descriptors, threads and memory that a transport leaves after many loads. Ends with 1 if something is left.
//
//   swift run TransportCounts --cancelled 10000
//   swift run TransportCounts --minutes 10
//
// With CurlLoader, on Linux:
//
//   swift run TransportCounts --curl --minutes 10
//   .ci/servers --run 'swift run TransportCounts --curl --in-flight 10000 {held}'
//   .ci/servers --run 'swift run TransportCounts --curl --slowly {plain}/gigabyte'
//   .ci/servers --run 'swift run TransportCounts --curl --secured {plain}/5 {nginx}/5 {tls12}/5 {roots}'
//   .ci/servers --exits 1000 .build/debug/TransportCounts    # each exits while TLS is in use

import Foundation
import FutureTreeHTTP
import FutureTreeHTTPTesting
import FutureTreeTransportTesting

var arguments = Array(CommandLine.arguments.dropFirst())
var load = TransportLoad("URLSessionLoader") { URLSessionLoader(.init(timeout: nil)) }
#if os(Linux)
  if arguments.first == "--curl" {
    arguments.removeFirst()
    if try await CurlFigures.run(arguments) { exit(0) }
    load = TransportLoad("CurlLoader") { CurlLoader(.init(timeout: nil)) }
  }
#endif
exit(await load.run(arguments: arguments))
