import FutureTree

extension OurWorks {
  static let queues: [Named] = [
    ("queue-turn", turns()), ("queue-turn-keys", turns(perKey: 2)), ("queue-idle", idle), ("slot", slot),
  ]

  /// Adds work to a queue whose slots are taken, and runs it when they are free.
  public static func turns(perKey: Int? = nil) -> Work {
    Work("turn", operations: 1000) { () -> (FutureQueue, [Promise<Int>]) in
      (FutureQueue(atMost: 4, perKey: perKey), (0..<4).map { _ in Promise<Int>() })
    } repeating: { queue, gates in
      let running = gates.map { gate in queue.add { gate.future } }
      for number in 0..<1000 { queue.add(key: "key") { .succeeded(number) } }
      for gate in gates { gate.succeed(0) }
      withExtendedLifetime(running) {}
    }
  }

  /// Adds work to an idle queue, which runs it at once.
  public static let idle = Work("addition", operations: 1000) {
    FutureQueue()
  } repeating: { queue in
    for number in 0..<1000 { queue.add { .succeeded(number) } }
  }

  /// Replaces pending work, which is asked to cancel, by newer work.
  public static let slot = Work("run", operations: 1000) { () -> (LatestFuture<Int>, [Promise<Int>]) in
    (LatestFuture(), (0..<1000).map { _ in Promise() })
  } repeating: { latest, promises in
    for promise in promises { latest.run { promise.future } }
  }
}
