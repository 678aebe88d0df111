/// The step of an entry, in one word.
///
/// A closure has two words: a function, and a reference to its captures. A specialized step captures nothing, so its second
/// word is null, but Swift would still retain it in each call and release it with each entry. Without that word, a link takes
/// about 50 instructions less, and a source has room for an observer (`FirstObserver`).
///
/// # Invariants
/// 1. `word` is the function of a step without captures, or an owned reference to a box that has the step (`isBoxed`).
/// 2. A step that captures the metadata of its types is boxed. Debug builds and unspecialized generic code make such steps.
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

  /// A closure inside a struct. A bare closure would reach generic code, such as `unsafeBitCast`, wrapped in a second closure.
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
