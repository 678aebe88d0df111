/// What stands in a `Heap`, and knows where.
package protocol HeapElement: AnyObject {
  /// Where it stands; nil if it is in no heap. Only the heap sets it.
  var position: Int? { get set }

  /// The order, which the owner of the heap guards.
  func isBefore(_ other: Self) -> Bool
}

/// Elements, the first in their order first. Pure.
///
/// A binary heap whose elements know their positions, so that one can be moved, or taken out from the middle.
package struct Heap<Element: HeapElement> {
  private var elements: [Element] = []

  package init() {}

  package var first: Element? { elements.first }
  package var count: Int { elements.count }

  /// - Complexity: O(log n), as all that follow.
  package mutating func insert(_ element: Element) {
    elements.append(element)
    rise(from: elements.count - 1)
  }

  /// Takes an element out, if it is here.
  package mutating func remove(_ element: Element) {
    guard let position = element.position else { return }
    element.position = nil
    let last = elements.removeLast()
    guard last !== element else { return }
    place(last, at: position)
    rise(from: position)
    sink(from: position)
  }

  /// The element comes earlier in the order than before; nothing happens if it is not here.
  package mutating func hasRisen(_ element: Element) {
    if let position = element.position { rise(from: position) }
  }

  /// The first element comes later in the order than before.
  package mutating func firstHasSunk() {
    sink(from: 0)
  }

  /// Takes out the elements for which `isRemoved` is true.
  ///
  /// - Complexity: O(n).
  package mutating func removeAll(where isRemoved: (Element) -> Bool) {
    for element in elements { element.position = nil }
    elements.removeAll(where: isRemoved)
    for (position, element) in elements.enumerated() { element.position = position }
    for position in (0..<(elements.count / 2)).reversed() { sink(from: position) }
  }

  private mutating func rise(from start: Int) {
    let element = elements[start]
    var position = start
    while position > 0, element.isBefore(elements[(position - 1) / 2]) {
      place(elements[(position - 1) / 2], at: position)
      position = (position - 1) / 2
    }
    place(element, at: position)
  }

  private mutating func sink(from start: Int) {
    let element = elements[start]
    var position = start
    while 2 * position + 1 < elements.count {
      var least = 2 * position + 1
      if least + 1 < elements.count, elements[least + 1].isBefore(elements[least]) { least += 1 }
      guard elements[least].isBefore(element) else { break }
      place(elements[least], at: position)
      position = least
    }
    place(element, at: position)
  }

  private mutating func place(_ element: Element, at position: Int) {
    elements[position] = element
    element.position = position
  }
}
