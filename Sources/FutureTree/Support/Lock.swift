/// The only lock type of the library: small, not recursive, and held for a few instructions.
///
/// No user code runs while a lock is held, and no thread holds two locks. Law 19 (no user code under a lock). Debug builds
/// assert both: see `LockRule`. The other modules of the package and the tests use this type as well.
///
/// The implementation is `PlatformLock` on Apple's platforms, and `ParkingLock` elsewhere. With `-D FUTURETREE_PLATFORM_LOCK`
/// it is `PlatformLock` everywhere, for measurements. `docs/decisions/the-lock.md` has the reasons.
@usableFromInline package struct Lock: ~Copyable, Sendable {
  #if FUTURETREE_EXPLORER
    package let explored = ExploredLock()
  #endif
  #if canImport(Darwin) || FUTURETREE_PLATFORM_LOCK
    @usableFromInline let backing = PlatformLock()
  #else
    @usableFromInline let backing = ParkingLock()
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

  /// Runs `body` under the lock, and releases what it returns after the lock: a `deinit` may be user code.
  @inline(__always)
  func release<Removed>(_ body: () -> Removed) {
    _ = withLock(body)
  }

  #if DEBUG || FUTURETREE_EXPLORER || FUTURETREE_LOCK_RULE
    /// Runs `body` under the lock, for other modules.
    @usableFromInline func runLocked(_ body: () throws -> Void) rethrows {
      try withLock(body)
    }
  #else
    /// Runs `body` under the lock, for other modules, whose code contains it.
    @inlinable @inline(__always) func runLocked(_ body: () throws -> Void) rethrows {
      try backing.withLock(body)
    }
  #endif

  /// A scheduling point between two steps of a locked section, where the explorer of the tests can interrupt it.
  @inline(__always)
  func pointInside() {
    #if FUTURETREE_EXPLORER
      explored.reachedInside()
    #endif
  }

  /// A scheduling point for the explorer of the tests. It comes before a step that accesses, without the lock, data that the
  /// lock guarded before.
  @inline(__always)
  func pointWithout() {
    #if FUTURETREE_EXPLORER
      SchedulingPoint.reached(explored)
    #endif
  }
}
