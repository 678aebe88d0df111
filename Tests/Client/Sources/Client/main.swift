import Dispatch
import FutureTree

// Prints one line for each check. `Tests/Client/run` compares the lines of the debug build with those of release builds.

let serialQueue = DispatchQueue(label: "Client")
let onSerialQueue = DispatchSpecificKey<Bool>()
serialQueue.setSpecific(key: onSerialQueue, value: true)

let executors: [(name: String, executor: FutureExecutor)] = [
  ("immediate", .immediate), ("global", .global()), ("custom", .custom { job in serialQueue.async { job() } }),
  (
    "serial",
    .serial { job in
      serialQueue.async { job() }
    } isCurrent: {
      DispatchQueue.getSpecific(key: onSerialQueue) == true
    }
  ),
]

func checkValues<Value: Shape>(of type: Value.Type) async {
  checkJoins(of: type)
  for (name, executor) in executors {
    for ending in [Ending.succeeded, .failed, .cancelled] {
      for isPending in [false, true] {
        await OperatorChecks<Value>(executor: executor, name: name, ending: ending, isPending: isPending).run()
      }
    }
  }
  for future in [Future<Value>.succeeded(Value(1)), .failed(Fault(number: 2)), .cancelled("three")] {
    await MainChecks(future: future).run()
  }
  await checkSources(of: type)
  show("\(type): \(await aliveReferences()) objects are alive")
}

checkZips(Int.self, Int.self, Int.self)
checkZips(Nothing.self, Words.self, Payload.self)
checkZips(Reference.self, Mixed.self, Boxed.self)
await checkValues(of: Int.self)
await checkValues(of: Nothing.self)
await checkValues(of: Words.self)
await checkValues(of: Reference.self)
await checkValues(of: Payload.self)
await checkValues(of: Boxed.self)
