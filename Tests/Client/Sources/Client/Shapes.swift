import Synchronization

/// A value with one kind of memory layout. Its description shows its whole content.
protocol Shape: Sendable {
  init(_ number: Int)
}

extension Int: Shape {}

/// A value of 0 bytes.
struct Nothing: Shape, CustomStringConvertible {
  init(_ number: Int) {}

  var description: String { "nothing" }
}

/// A value of 3 words, without references.
struct Words: Shape, CustomStringConvertible {
  let (first, second, third): (Int, Int, Int)

  init(_ number: Int) { (first, second, third) = (number, number * 10, number * 100) }

  var description: String { "\(first)/\(second)/\(third)" }
}

final class Reference: Shape, CustomStringConvertible {
  /// The number of references that have not been released.
  static let alive = Atomic(0)

  private let number: Int

  init(_ number: Int) {
    self.number = number
    Reference.alive.add(1, ordering: .relaxed)
  }

  deinit { Reference.alive.subtract(1, ordering: .relaxed) }

  var description: String { "object \(number)" }
}

enum Payload: Shape, CustomStringConvertible {
  case none
  case number(Int)
  case text(String, Reference)
  indirect case payload(Payload)

  init(_ number: Int) {
    switch number % 4 {
    case 0: self = .none
    case 1: self = .number(number)
    case 2: self = .text("text \(number)", Reference(number))
    default: self = .payload(Payload(number + 3))
    }
  }

  var description: String {
    switch self {
    case .none: "none"
    case .number(let number): "number \(number)"
    case .text(let text, let reference): "\(text) of \(reference)"
    case .payload(let payload): "(\(payload))"
    }
  }
}

/// A value of bytes, words and references.
struct Mixed: Shape, CustomStringConvertible {
  let byte: UInt8
  let reference: Reference
  let isEven: Bool
  let text: String

  init(_ number: Int) {
    (byte, reference, isEven) = (UInt8(number), Reference(number), number.isMultiple(of: 2))
    text = "a text of more than 15 bytes: \(number)"
  }

  var description: String { "\(byte) \(reference) \(isEven) \(text)" }
}

/// A value whose layout is unknown at compile time.
struct Boxed: Shape, CustomStringConvertible {
  let shape: any Shape

  init(_ number: Int) { shape = number.isMultiple(of: 2) ? Mixed(number) : Reference(number) }

  var description: String { "boxed \(shape)" }
}
