/// A ring buffer of the latest events of a log. It counts the events that it dropped.
struct EventBuffer {
  let limit: Int
  private(set) var dropped = 0
  private var events: [FutureEvent] = []
  /// The index of the oldest event once the buffer is full.
  private var oldest = 0

  init(limit: Int) {
    self.limit = max(limit, 0)
  }

  mutating func append(_ event: FutureEvent) {
    guard events.count == limit else { return events.append(event) }
    dropped += 1
    guard limit > 0 else { return }
    events[oldest] = event
    oldest = (oldest + 1) % limit
  }

  /// The events, sorted by number. Threads append an event after they numbered it, so events can be appended out of order.
  var inOrder: [FutureEvent] {
    events.sorted { $0.number < $1.number }
  }
}
