/// The latest events of a log, as a value: what does not fit any more is counted.
struct EventBuffer {
  let limit: Int
  private(set) var dropped = 0
  private var events: [FutureEvent] = []
  /// Where the oldest event stands once the buffer is full.
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

  /// In the order of their numbers. Threads append what they have numbered a little later, so they may overtake.
  var inOrder: [FutureEvent] {
    events.sorted { $0.number < $1.number }
  }
}
