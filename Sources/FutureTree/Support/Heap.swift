/// An element of a `Heap`, which knows its position.
@usableFromInline package protocol HeapElement: AnyObject {
  /// The position in the heap, or `nil` if the element is in no heap. Set only by the heap.
  var position: Int? { get set }

  /// Returns whether this element comes first. The owner of the heap guards the values that decide the order.
  func isBefore(_ other: Self) -> Bool
}

/// A priority queue. Pure: takes no lock.
///
/// A binary heap whose elements know their positions, so that any element can be removed. Its methods are inlinable, so that
/// other modules specialize them.
@usableFromInline package struct Heap<Element: HeapElement> {
  @usableFromInline var elements: [Element] = []

  @inlinable package init() {}

  @inlinable package var first: Element? { elements.first }
  @inlinable package var count: Int { elements.count }

  /// - Complexity: O(log n), like the following methods.
  @inlinable package mutating func insert(_ element: Element) {
    elements.append(element)
    rise(from: elements.count - 1)
  }

  /// Removes an element, if it is in the heap.
  @inlinable package mutating func remove(_ element: Element) {
    guard let position = element.position else { return }
    element.position = nil
    let last = elements.removeLast()
    guard last !== element else { return }
    place(last, at: position)
    rise(from: position)
    sink(from: position)
  }

  /// Removes the elements for which `isRemoved` returns true.
  ///
  /// - Complexity: O(n).
  @inlinable package mutating func removeAll(where isRemoved: (Element) -> Bool) {
    for element in elements { element.position = nil }
    elements.removeAll(where: isRemoved)
    for (position, element) in elements.enumerated() { element.position = position }
    for position in (0..<(elements.count / 2)).reversed() { sink(from: position) }
  }

  @inlinable mutating func rise(from start: Int) {
    let element = elements[start]
    var position = start
    while position > 0, element.isBefore(elements[(position - 1) / 2]) {
      place(elements[(position - 1) / 2], at: position)
      position = (position - 1) / 2
    }
    place(element, at: position)
  }

  @inlinable mutating func sink(from start: Int) {
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

  @inlinable mutating func place(_ element: Element, at position: Int) {
    elements[position] = element
    element.position = position
  }
}

extension Heap: Sendable where Element: Sendable {}
