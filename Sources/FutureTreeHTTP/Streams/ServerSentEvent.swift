/// An event of a stream with the content type `text/event-stream` (WHATWG HTML, section 9.2).
///
/// ```swift
/// // event: price
/// // id: 17
/// // data: {"symbol": "ABC", "price": 12}
/// let event = ServerSentEvent(type: "price", data: #"{"symbol": "ABC", "price": 12}"#, id: "17")
/// ```
///
/// Equality compares all properties. The description does not contain `data` and `id`, which may contain secrets.
public struct ServerSentEvent: Sendable, Hashable {
  /// The type of the event, from the field `event`. `message` if the event has no such field, or an empty one.
  public let type: String

  /// The values of the fields `data`, joined by line feeds.
  public let data: String

  /// The ID of the last event at the time of this event: the value of the last field `id` of the stream, which can be part
  /// of an earlier event. Empty if there is none.
  public let id: String

  /// Creates an event, for example for a test.
  ///
  /// - Parameters:
  ///   - type: The type of the event. Defaults to `message`.
  ///   - data: The data of the event.
  ///   - id: The ID of the last event. Defaults to an empty string.
  public init(type: String = "message", data: String, id: String = "") {
    self.type = type
    self.data = data
    self.id = id
  }
}

extension ServerSentEvent: CustomStringConvertible, CustomReflectable {
  /// The type, shortened to one line of at most 100 characters, and the number of bytes of the data, such as
  /// `message (12 bytes)`.
  public var description: String {
    let count = data.utf8.count
    return "\(OneLine.text(type, limit: 100)) (\(count) byte\(count == 1 ? "" : "s"))"
  }

  /// The description, without the data and the ID.
  public var customMirror: Mirror { Mirror(self, children: ["event": description], displayStyle: .struct) }
}
