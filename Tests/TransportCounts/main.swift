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

var arguments = Array(CommandLine.arguments.dropFirst())
var load = TransportLoad("URLSessionLoader") { URLSessionLoader(.init(timeout: nil)) }
#if os(Linux)
  if arguments.first == "--curl" {
    arguments.removeFirst()
    switch arguments.first {
    case "--in-flight" where arguments.count == 3:
      try await CurlFigures.inFlight(Int(arguments[1]) ?? 10_000, arguments[2])
      exit(0)
    case "--slowly" where arguments.count == 2:
      try await CurlFigures.slowly(arguments[1])
      exit(0)
    case "--secured" where arguments.count == 5:
      try await CurlFigures.secured(arguments[1], arguments[2], arguments[3], roots: arguments[4])
      exit(0)
    case "--exit" where arguments.count == 4:
      try await CurlFigures.exitDuring(
        arguments[1], roots: arguments[2], after: .microseconds(Int(arguments[3]) ?? 0))
    default: break
    }
    load = TransportLoad("CurlLoader") { CurlLoader(.init(timeout: nil)) }
  }
#endif
exit(await load.run(arguments: arguments))
