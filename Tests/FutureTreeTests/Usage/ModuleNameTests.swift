import FutureTree
import Observation
import TestSupport
import Testing

/// A public type with the name of a module hides that module. Macros and users that write `Observation.Observable` would
/// not compile in a file that imports FutureTree.
@Suite("Names of modules") struct ModuleNameTests {
  @Observable final class Model {
    var title = ""
  }

  @Test("An @Observable model compiles beside FutureTree")
  func observable() {
    let (model, changes) = (Model(), Locked(0))
    withObservationTracking {
      _ = model.title
    } onChange: {
      changes.withLock { $0 += 1 }
    }

    if case .success(let title) = Future.succeeded("Trees").outcomeIfCompleted { model.title = title }

    expectEqual(model.title, "Trees")
    expectEqual(changes.value, 1)
  }
}
