import FutureTree
import Observation
import Testing

/// A public type that has the name of a module hides that module: macros and users that write `Observation.Observable` would
/// not compile in a file that imports FutureTree.
@Suite("No public type hides a module") struct ModuleNameTests {
  @Observable final class Model {
    var title = ""
  }

  @Test("a model that is @Observable gets its value from a future")
  func observable() {
    let (model, changes) = (Model(), Locked(0))
    withObservationTracking {
      _ = model.title
    } onChange: {
      changes.withLock { $0 += 1 }
    }

    if case .success(let title) = Future.succeeded("Trees").outcomeIfCompleted { model.title = title }

    #expect(model.title == "Trees" && changes.value == 1)
  }
}
