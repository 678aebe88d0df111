import CoreMetrics
import FutureTree
import FutureTreeHTTP

extension RequestMetrics {
  /// Creates a layer that reports each load to swift-metrics when it ends.
  ///
  /// ```swift
  /// let api = Retry() --> RequestMetrics(to: MetricsSystem.factory) --> URLSessionLoader()
  /// ```
  ///
  /// | metric | type | meaning |
  /// | --- | --- | --- |
  /// | `http.client.requests` | `Counter` | the number of loads that have ended |
  /// | `http.client.request.duration` | `Timer` | the time until the load, or the transfer of its stream, ended |
  /// | `http.client.request.body.size`, `http.client.response.body.size` | `Recorder` | the number of bytes |
  ///
  /// The dimensions are those of `HTTPMeasurement.Sample.attributes`, sorted by name: the method, the server, the status,
  /// and for a load without success `error.type`. Loads in flight are not reported: a `Meter` that is made for each load
  /// would count from zero in factories without meters of their own.
  ///
  /// - Parameters:
  ///   - factory: The factory of the metrics. It is asked for a metric with each load, and must return the same one for
  ///     the same label and dimensions.
  ///   - clock: The clock that measures the duration of loads.
  public init(to factory: any MetricsFactory, clock: any FutureClock = .system) {
    self.init(clock: clock) { measurement in
      guard let duration = measurement.duration else { return }
      for sample in measurement.samples where sample.unit != "{request}" {
        let dimensions = sample.attributes.sorted { $0.key < $1.key }.map { ($0.key, $0.value.description) }
        guard sample.unit == "s" else {
          let recorder = Recorder(label: sample.name, dimensions: dimensions, aggregate: true, factory: factory)
          recorder.record(sample.value)
          continue
        }
        Counter(label: "http.client.requests", dimensions: dimensions, factory: factory).increment()
        let timer = Timer(
          label: sample.name, dimensions: dimensions, preferredDisplayUnit: .seconds, factory: factory)
        timer.recordNanoseconds(Int64(min(duration / .nanoseconds(1), 9e18)))
      }
    }
  }
}
