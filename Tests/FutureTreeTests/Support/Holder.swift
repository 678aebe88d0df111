import FutureTree
import FutureTreeTesting

/// An operator whose body holds a probe.
enum Holder: String, CaseIterable, Sendable {
  case map, flatMap, onSuccess, recover, recoverWith, onFailure, onCancel
  case onComplete, onCompleteFuture, ensure, mapError, timeout, shielded, all, zip, allSettled, race, any, traverse
  case retry, cancelWhen, observe, handler, delayed, shared, queue, singleFlight, logged

  /// Returns a future that the test retains. Only the closure retains the probe.
  func attach(_ probe: Probe, to promise: Promise<Int>, on executor: FutureExecutor = .immediate) -> Future<Int> {
    let future = promise.future
    switch self {
    case .map: return future.map(on: executor) { pass($0, probe) }
    case .flatMap: return future.flatMap(on: executor) { .succeeded(pass($0, probe)) }
    case .onSuccess: return future.onSuccess(on: executor) { .succeeded(pass($0, probe)) }
    case .recover: return future.recover(on: executor) { _ in pass(0, probe) }
    case .recoverWith: return future.recoverWith(on: executor) { _ in .succeeded(pass(0, probe)) }
    case .onFailure: return future.onFailure(on: executor) { _ in probe.touch() }
    case .onCancel: return future.onCancel(on: executor) { _ in probe.touch() }
    case .onComplete: return future.onComplete(on: executor) { .success(pass(try $0.get(), probe)) }
    case .onCompleteFuture:
      return future.onComplete(on: executor) { .completeUsing(.succeeded(pass(try $0.get(), probe))) }
    case .ensure: return future.ensure(on: executor) { probe.touch() }
    case .mapError: return future.mapError(on: executor) { touching($0, probe) }
    case .timeout:
      return future.map(on: executor) { pass($0, probe) }.timeout(after: .seconds(1), clock: ManualClock())
    case .shielded: return future.map(on: executor) { pass($0, probe) }.shielded()
    case .zip: return Future.zip(future, future.map(on: executor) { pass($0, probe) }).map { $0.0 }
    case .allSettled:
      return Future.allSettled([future.map(on: executor) { pass($0, probe) }]).map { try $0[0].get() }
    case .race: return Future.race([future.map(on: executor) { pass($0, probe) }])
    case .any: return Future.any([future.map(on: executor) { pass($0, probe) }])
    case .traverse:
      return Future.traverse([0], atMost: 1, on: executor) { _ in
        probe.touch()
        return future
      }.map { $0[0] }
    case .retry:
      return Future.retry(.constant(attempts: 1), on: executor) { _ in
        probe.touch()
        return future
      }
    case .cancelWhen:
      return future.map(on: executor) { pass($0, probe) }.cancel(when: CancellationTokenSource().token)
    case .delayed: return future.map(on: executor) { pass($0, probe) }.delayed(by: .zero, clock: ManualClock())
    case .shared: return future.map(on: executor) { pass($0, probe) }.shared()
    case .queue:
      return FutureQueue().add { future.map(on: executor) { pass($0, probe) } }
    case .singleFlight:
      return SingleFlight<Int, Int>().load(1) { future.map(on: executor) { pass($0, probe) } }
    case .logged: return future.logged(in: FutureLog(limit: 10)).map(on: executor) { pass($0, probe) }
    case .all: return Future.all([future, future.map(on: executor) { pass($0, probe) }]).map { $0[0] }
    case .observe:
      future.observe(on: executor) { _ in probe.touch() }
      return future
    case .handler:
      promise.onRequestCancel(on: executor, holding: probe)
      return future
    }
  }
}

private func touching(_ error: any Error, _ probe: Probe) -> any Error {
  probe.touch()
  return error
}

/// Uses the probe, and returns the value.
func pass(_ value: Int, _ probe: Probe) -> Int {
  probe.touch()
  return value
}
