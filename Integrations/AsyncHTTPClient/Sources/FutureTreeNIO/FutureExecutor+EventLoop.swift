import FutureTree
import NIOCore

extension FutureExecutor {
  /// Returns a serial executor that runs bodies on an event loop.
  ///
  /// ```swift
  /// let length = download.map(on: .eventLoop(channel.eventLoop)) { body in handler.received(body) }
  /// ```
  ///
  /// A body always runs in a later iteration of the loop, also if its future completes on the loop. Bodies run in the order in
  /// which their futures complete. After the loop has shut down, it drops them: their futures fail with `DroppedJob`.
  ///
  /// - Parameter eventLoop: The event loop.
  /// - Complexity: O(1).
  public static func eventLoop(_ eventLoop: any EventLoop) -> FutureExecutor {
    .serial {
      eventLoop.execute($0)
    } isCurrent: {
      eventLoop.inEventLoop
    }
  }
}
