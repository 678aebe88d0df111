/// Inline storage for one value. Only the code that wrote the value knows its type.
///
/// With a generic stored property (`Value?`), the runtime looks up metadata whenever a future is released, which costs 400
/// instructions per future. Two raw words that the typed step writes, reads and destroys avoid that.
///
/// # Invariants
/// 1. `initialize` runs at most once. `load` and `destroy` run only after it, and with the same type. Before it, `reference`
///    may be used.
/// 2. A value that is not plain bits does not move: the storage is a property of a class, written and destroyed in place. A
///    load copies the value out of its bits, which it borrows.
/// 3. `Node.deinit` destroys the value, once. Plain bits (`init(bitsOf:)`) may be moved and are not destroyed.
@usableFromInline
struct ValueStorage {
  @usableFromInline var words: (UInt, UInt) = (0, 0)

  @inlinable init() {}

  /// Stores a value that is plain bits and fits. Returns nil for any other value. The storage may be moved, and needs no
  /// `destroy`.
  @inlinable init?<Value>(bitsOf value: Value) {
    guard _isPOD(Value.self), ValueStorage.isInline(Value.self) else { return nil }
    initialize(to: value, as: Value.self)
  }

  /// An unretained reference, stored before `initialize` and overwritten by it.
  var reference: UnsafeMutableRawPointer? {
    get { UnsafeMutableRawPointer(bitPattern: words.0) }
    set { words.0 = UInt(bitPattern: newValue) }
  }

  @inlinable static func isInline<Value>(_: Value.Type) -> Bool {
    MemoryLayout<Value>.size <= MemoryLayout<(UInt, UInt)>.size
      && MemoryLayout<Value>.alignment <= MemoryLayout<(UInt, UInt)>.alignment
  }

  @inlinable mutating func initialize<Value>(to value: Value, as type: Value.Type) {
    _withUnprotectedUnsafeMutableBytes(of: &words) { bytes in
      guard ValueStorage.isInline(type) else {
        let box = UnsafeMutablePointer<Value>.allocate(capacity: 1)
        box.initialize(to: value)
        bytes.storeBytes(of: UnsafeMutableRawPointer(box), as: UnsafeMutableRawPointer.self)
        return
      }
      bytes.baseAddress.unsafelyUnwrapped.initializeMemory(as: type, to: value)
    }
  }

  /// Reads without an exclusive access, because several threads may read at once.
  @inlinable func load<Value>(as type: Value.Type) -> Value {
    _withUnprotectedUnsafeBytes(of: words) { bytes in
      guard ValueStorage.isInline(type) else {
        return bytes.load(as: UnsafeMutableRawPointer.self).assumingMemoryBound(to: type).pointee
      }
      return bytes.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: type).pointee
    }
  }

  /// Moves the value out.
  ///
  /// - Precondition: The value is inline.
  @inlinable func take<Value>(as type: Value.Type) -> Value {
    var words = words
    return _withUnprotectedUnsafeMutableBytes(of: &words) { bytes in
      bytes.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: type).move()
    }
  }

  @inlinable mutating func destroy<Value>(as type: Value.Type) {
    _withUnprotectedUnsafeMutableBytes(of: &words) { bytes in
      guard ValueStorage.isInline(type) else {
        let box = bytes.load(as: UnsafeMutableRawPointer.self).assumingMemoryBound(to: type)
        box.deinitialize(count: 1)
        box.deallocate()
        return
      }
      bytes.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: type).deinitialize(count: 1)
    }
  }
}
