import Testing

/// A test that checks a law of the contract has the tag of the law, wherever the test is. The guide *Cancellation* has the laws, and
/// `docs/compatibility.md` the rules H1 to H13.
extension Tag {
  /// Requests, not commands.
  @Tag package static var law01: Self
  /// Forwarding.
  @Tag package static var law02: Self
  /// Stopping where others wait.
  @Tag package static var law03: Self
  /// This future only.
  @Tag package static var law04: Self
  /// Force.
  @Tag package static var law05: Self
  /// Shared futures.
  @Tag package static var law06: Self
  /// Handlers answer.
  @Tag package static var law07: Self
  /// No request is lost.
  @Tag package static var law08: Self
  /// Handlers run.
  @Tag package static var law09: Self
  /// One consumer, one count.
  @Tag package static var law10: Self
  /// Bodies that have not begun.
  @Tag package static var law11: Self
  /// Diamonds.
  @Tag package static var law12: Self
  /// Tokens.
  @Tag package static var law13: Self
  /// Awaiting.
  @Tag package static var law14: Self
  /// A task as a source.
  @Tag package static var law15: Self
  /// A dropped promise.
  @Tag package static var law16: Self
  /// Receipts.
  @Tag package static var law17: Self
  /// Provenance.
  @Tag package static var law18: Self
  /// No user code under a lock.
  @Tag package static var law19: Self
  /// Any depth.
  @Tag package static var law20: Self
  /// Bounded memory.
  @Tag package static var law21: Self
  /// Ordering is not interest.
  @Tag package static var law22: Self
  /// Deciding detaches.
  @Tag package static var law23: Self
  /// Lingering.
  @Tag package static var law24: Self
  /// Grace.
  @Tag package static var law25: Self
  /// Completes once.
  @Tag package static var h01: Self
  /// The holder completes.
  @Tag package static var h02: Self
  /// Known before handled.
  @Tag package static var h03: Self
  /// Nothing after completion.
  @Tag package static var h04: Self
  /// Confirmed cancellation.
  @Tag package static var h05: Self
  /// Refuse, drain, wipe.
  @Tag package static var h06: Self
  /// One load, one execution.
  @Tag package static var h07: Self
  /// Injected time and randomness.
  @Tag package static var h08: Self
  /// Nothing is rewritten silently.
  @Tag package static var h09: Self
  /// Credentials never cross an origin.
  @Tag package static var h10: Self
  /// No printed secret.
  @Tag package static var h11: Self
  /// Whole bodies.
  @Tag package static var h12: Self
  /// Tolerant reading.
  @Tag package static var h13: Self
}
