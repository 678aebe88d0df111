import Foundation
import FutureTree
import FutureTreeHTTP

/// The latest loads of an ``HTTPRecorder``, and the events of their futures.
///
/// ```swift
/// let recorder = HTTPRecorder(limit: 200, log: FutureLog())
/// let api = recorder --> Retry() --> SystemLoader()
/// try recorder.recording().write(to: URL(filePath: "flight.json"))
/// ```
///
/// An ``HTTPReplayer`` repeats the order of a recording. `TreeInspector flight.json` makes a page of it, as
/// `futures.html(title:)` of the module FutureTreePictures does.
///
/// Encoded as `{"exchanges": …, "futures": …}`: an archive in the format HAR 1.2, and a `FutureLog.Recording`. An entry of the archive
/// has the number of its future in the log as `_future`. The error of an entry (`_error`) is `cancelled` or `pending` if the load was
/// cancelled or in flight.
public struct FlightRecording: Sendable, Equatable, Codable {
  /// The latest loads, also those that were cancelled or in flight.
  public let exchanges: HTTPArchive
  /// The latest events of the futures of these loads, and of all futures connected to them.
  public let futures: FutureLog.Recording

  init(exchanges: HTTPArchive, futures: FutureLog.Recording) {
    self.exchanges = exchanges
    self.futures = futures
  }

  /// Reads a recording from its JSON.
  ///
  /// - Throws: `InvalidArchive` if the bytes are not a recording.
  public init(_ data: Data) throws {
    do {
      self = try JSONDecoder().decode(FlightRecording.self, from: data)
    } catch {
      throw InvalidArchive(error, in: data)
    }
  }

  /// The JSON of the recording. Keys are sorted.
  ///
  /// - Throws: An error of the encoder.
  public func data() throws -> Data { try HTTPArchive.encoder.encode(self) }

  /// Writes the recording to a file, which is replaced as a whole.
  ///
  /// - Throws: An error of the file system.
  public func write(to url: URL) throws { try data().write(to: url, options: .atomic) }
}

extension FlightRecording: CustomStringConvertible, CustomReflectable {
  /// The number of loads and events, without their contents, which may be secrets.
  public var description: String {
    "FlightRecording(\(exchanges.count) requests, \(futures.events.count) events)"
  }

  public var customMirror: Mirror {
    Mirror(self, children: ["exchanges": exchanges.count, "events": futures.events.count], displayStyle: .struct)
  }
}
