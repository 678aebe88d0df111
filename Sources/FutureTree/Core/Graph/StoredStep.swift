/// The step of an entry, in one word.
///
/// A closure is two words: a function, and a reference to what it captures. A step captures nothing where it is specialized, so
/// that the second word is null, and yet it would be retained in each call and released with each entry. Without it a link costs
/// some 50 instructions less, and a source has room for an observer (`FirstObserver`).
///
/// # Invariants
/// 1. `word` is the function of a step without captures, or an owned reference to a box that has the step (`isBoxed`).
/// 2. A step that captures the metadata of its types is boxed: debug builds, and generic code that was not specialized, make those.
/// 3. `release` is called once, by the `deinit` of the entry.
@usableFromInline
struct StoredStep: Sendable {
  @usableFromInline let word: UInt
  @usableFromInline let isBoxed: Bool

  @inlinable @inline(__always)
  init(_ step: @escaping Waiter.Step) {
    let (function, captures) = unsafeBitCast(Closure(step: step), to: (UInt, UInt).self)
    isBoxed = captures != 0
    word = captures == 0 ? function : StoredStep.box(step)
  }

  @inline(__always)
  func callAsFunction(_ entry: Waiter, _ upstream: Node, _ action: Waiter.Action) -> Bool {
    guard !isBoxed else { return boxed.step(entry, upstream, action) }
    return unsafeBitCast((word, 0 as UInt), to: Closure.self).step(entry, upstream, action)
  }

  @inline(__always)
  func release() {
    if isBoxed { releaseBox() }
  }

  /// Generic code such as `unsafeBitCast` would get a bare closure wrapped in another.
  @usableFromInline
  struct Closure {
    @usableFromInline let step: Waiter.Step

    @inlinable init(step: @escaping Waiter.Step) {
      self.step = step
    }
  }

  private final class Box {
    let step: Waiter.Step

    init(_ step: @escaping Waiter.Step) {
      self.step = step
    }
  }

  @usableFromInline @inline(never)
  static func box(_ step: @escaping Waiter.Step) -> UInt {
    UInt(bitPattern: Unmanaged.passRetained(Box(step)).toOpaque())
  }

  @inline(never)
  private func releaseBox() {
    Unmanaged.passUnretained(boxed).release()
  }

  private var boxed: Box {
    @inline(never) get { unsafeBitCast(word, to: Box.self) }
  }
}
