/// An array for zero or one elements in most cases: only the second element needs an allocation.
struct TinyArray<Element>: Sequence {
  private(set) var first: Element?
  private(set) var others: [Element] = []

  init() {}

  init(_ element: Element?) {
    first = element
  }

  init(_ elements: [Element]) {
    first = elements.first
    if elements.count > 1 { others = Array(elements.dropFirst()) }
  }

  var isEmpty: Bool { first == nil }
  var count: Int { first == nil ? 0 : 1 + others.count }

  /// - Precondition: There is an element at the position.
  subscript(position: Int) -> Element {
    get { position == 0 ? first! : others[position - 1] }
    set { if position == 0 { first = newValue } else { others[position - 1] = newValue } }
  }

  mutating func reserveCapacity(_ count: Int) {
    if count > 1 { others.reserveCapacity(count - 1) }
  }

  mutating func append(_ element: Element) {
    if first == nil { first = element } else { others.append(element) }
  }

  func makeIterator() -> Iterator {
    Iterator(elements: self)
  }

  struct Iterator: IteratorProtocol {
    fileprivate let elements: TinyArray
    private var position = -1

    fileprivate init(elements: TinyArray) {
      self.elements = elements
    }

    mutating func next() -> Element? {
      defer { position += 1 }
      if position < 0 { return elements.first }
      return position < elements.others.count ? elements.others[position] : nil
    }
  }
}
