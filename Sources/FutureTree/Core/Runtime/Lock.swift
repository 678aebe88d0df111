/// The one lock type of the library: small, not recursive, held for a few instructions.
///
/// No code of a user runs while it is held, and no thread holds two (law 19). Debug builds assert both: see `LockRule`. The
/// other modules of the package and the tests use it as well.
///
/// What locks is the lock of the platform on Apple's platforms (`PlatformLock`), and `ParkingLock` elsewhere. With
/// `-D FUTURETREE_PLATFORM_LOCK` it is `PlatformLock` everywhere, for measurements. `docs/decisions/the-lock.md` has the reasons.
@usableFromInline package struct Lock: ~Copyable, Sendable {
  #if FUTURETREE_EXPLORER
    package let explored = ExploredLock()
  #endif
  #if canImport(Darwin) || FUTURETREE_PLATFORM_LOCK
    private let backing = PlatformLock()
  #else
    private let backing = ParkingLock()
  #endif

  package init() {}

  @inline(__always)
  package func withLock<Result>(_ body: () throws -> Result) rethrows -> Result {
    #if FUTURETREE_EXPLORER
      if let explorer = SchedulingPoint.explorer { return try explored.withLock(explorer, body) }
    #endif
    LockRule.enter()
    let result: Result
    do {
      result = try backing.withLock(body)
    } catch {
      LockRule.leave()
      throw error
    }
    LockRule.leave()
    // Otherwise the compiler releases a result that the caller does not use inside the locked section.
    withExtendedLifetime(result) {}
    return result
  }

  /// Runs `body` under the lock. This method is not generic. Other modules cannot inline `withLock`, and their specialized code
  /// would receive a generic result through metadata.
  @usableFromInline func runLocked(_ body: () throws -> Void) rethrows {
    try withLock(body)
  }

  /// Between two steps of a locked section, for the explorer of the tests: only it can interrupt one.
  @inline(__always)
  func pointInside() {
    #if FUTURETREE_EXPLORER
      explored.reachedInside()
    #endif
  }

  /// Before a step without the lock on what the lock guarded before, for the explorer of the tests.
  @inline(__always)
  func pointWithout() {
    #if FUTURETREE_EXPLORER
      SchedulingPoint.reached(explored)
    #endif
  }
}
