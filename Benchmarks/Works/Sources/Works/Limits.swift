import Baselines

extension OurWorks {
  /// The limits of the works. `Benchmarks/guard --limits` fails if a work misses one.
  public static let limits: [Limit] = ofPromises + ofOperators + ofCancellations + ofQueues + ofLoads + ofGrowth

  private static let ofPromises = [
    Limit("promise", atLeast: 1180, goal: 1000),
    Limit("escaping-promise", atLeast: 1390, goal: 1250),
    Limit("life", atLeast: 1400, goal: 1250),
    Limit("value", timesThoseOf: "continuation", atLeast: 1.08, goal: 1.06),
  ]

  private static let ofOperators =
    [
      Limit("chain", atLeast: 780, goal: 740),
      Limit("flatMap", atLeast: 1150, goal: 1000),
      Limit("all", atLeast: 2600, goal: 2300),
      Limit("onComplete", atLeast: 970, goal: 850),
      Limit("mapError", atLeast: 1000, goal: 850),
      Limit("onSuccess", timesThoseOf: "flatMap", atLeast: 1.3, goal: 1.1),
    ]
    + [
      "recover", "recoverWith", "ensure", "ensure-failing", "onFailure", "onFailure-failing", "onCancel",
      "onCancel-cancelled", "shielded",
      "asyncRecover",
    ].map { Limit($0, timesThoseOf: "chain", atLeast: 1.3, goal: 1.1) }
    + [
      // Includes the timer: a closure and a call of the clock.
      Limit("timeout", timesThoseOf: "chain", atLeast: 1.3, goal: 1.1, held: 2.05),
      // Includes a timer, its promise and an inner future in each link.
      Limit("delayed", timesThoseOf: "chain", atLeast: 1.3, goal: 1.1, held: 7.2),
      // Includes four events in a log that is full.
      Limit("logged-chain", timesThoseOf: "chain", atLeast: 7, goal: 5),
      // Includes a task in each link. A task alone costs as much as 15 links (`task`).
      Limit("asyncMap", timesThoseOf: "chain", atLeast: 22, goal: 19),
      Limit("asyncOnComplete", timesThoseOf: "chain", atLeast: 22, goal: 19),
    ]

  private static let ofCancellations = [
    Limit("cancel-all", atLeast: 2500, goal: 2000),
    Limit("cancel", atLeast: 800, goal: 700),
    Limit("everyday", atLeast: 3000, goal: 2000),
    Limit("everyday-shared-interest", atLeast: 3500, goal: 2500),
    Limit("everyday-handler", atLeast: 4500, goal: 3500),
    Limit("everyday-forced", atLeast: 4500, goal: 3500),
    Limit("everyday-shared", atLeast: 3500, goal: 2500),
    Limit("cancelToken", atLeast: 1500, goal: 900),
    Limit("cancelToken-asked", atLeast: 3000, goal: 2000),
    Limit("preview", atLeast: 3000, goal: 2000),
  ]

  private static let ofQueues = [
    // Includes a promise, its handler, the future of the body and the link to it.
    Limit("queue-turn", atLeast: 2500, goal: 2000, held: 9500),
    Limit("queue-turn-keys", atLeast: 2500, goal: 2000, held: 12_000),
    // Includes the cancellation of the work before.
    Limit("slot", atLeast: 1500, goal: 1200, held: 8000),
  ]

  private static let ofLoads = [
    Limit("layers", atLeast: 80_000, goal: 47_000),
    Limit("layers", "blocks", atLeast: 60, goal: 40),
    Limit("layers-throttled", timesThoseOf: "layers", atLeast: 1, goal: 0.5),
    Limit("layers-backoff", timesThoseOf: "layers", atLeast: 1, goal: 0.5, held: 1.3),
    Limit("layers-wire", timesThoseOf: "layers", atLeast: 1, goal: 0.5, held: 1.33),
    Limit("layers-cookies", timesThoseOf: "layers", atLeast: 1.2, goal: 1.1),
    Limit("layers-hit", timesThoseOf: "layers", atLeast: 1.35, goal: 1.2),
    Limit("layers-miss", timesThoseOf: "layers", atLeast: 2.5, goal: 2),
    Limit("phase", atLeast: 150, goal: 100),
  ]

  /// The cost of a unit in a large number, relative to its cost in a small number.
  private static let ofGrowth =
    ["consumers", "inputs", "links", "tokens"].map {
      Limit("\($0)-100000", timesThoseOf: "\($0)-10", atLeast: 1.3, goal: 1.1)
    }
    + ["loads", "reset"].map { Limit("\($0)-3000", timesThoseOf: "\($0)-300", atLeast: 1.3, goal: 1.1) }
    + [Limit("diamonds-10000", timesThoseOf: "diamonds-10", atLeast: 1.3, goal: 1.1)]
}
