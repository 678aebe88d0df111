/// A set of tokens that are cancelled together: by `cancel()`, or when the bag is deallocated.
///
/// ```swift
/// final class Screen {
///   private let bag = CancelBag()
///   func show() { bag.insert(loadFeed().map(on: .main) { feed in list.show(feed) }) }
/// }  // When the screen is deallocated, the feed is asked to cancel, unless another screen waits for it.
/// ```
///
/// On deallocation each token requests with `doNotForwardIfOthersWaiting`: what other scopes wait for goes on. `cancel()`
/// requests with the options that it is given (law 13).
///
/// A bag holds a token no longer than its future is pending, so a bag that lives long does not grow (law 21).
public final class CancelBag: Sendable {
  private let contents = Contents()

  /// An empty bag.
  public init() {}

  deinit {
    cancelAll(CancelRequest(options: .doNotForwardIfOthersWaiting, reason: "its bag was deallocated"))
  }

  /// Puts a token into the bag, which takes it out again when its future has completed. O(1).
  public func insert(_ token: CancelToken) {
    contents.insert(token)
    let observation = token.whenCompleted { [weak contents, id = ObjectIdentifier(token)] in contents?.remove(id) }
    if let observation { contents.add(observation, for: token) }
  }

  /// Inserts a token of a future. O(1).
  ///
  /// ```swift
  /// bag.insert(api.get("feed", as: Feed.self))
  /// ```
  public func insert<Value>(_ future: Future<Value>) {
    insert(future.cancelToken())
  }

  /// Cancels every token in the bag, in the order of insertion, and empties the bag.
  ///
  /// A token that is inserted afterwards is not cancelled by this call: it stays in the bag until the next.
  public func cancel(
    _ options: CancellationOptions = [], reason: CancellationReason? = nil, fileID: String = #fileID, line: UInt = #line
  ) {
    let reason = (reason ?? .unspecified).asked(fileID: fileID, line: line)
    cancelAll(CancelRequest(options: options, reason: reason))
  }

  private func cancelAll(_ request: CancelRequest) {
    for token in contents.removeAll() {
      let reason = request.reason
      token.cancel(request.options, reason: reason, fileID: reason.fileID, line: reason.line)
    }
  }

  private final class Contents: @unchecked Sendable {  // Because: `items` is guarded by `lock`.
    private struct Item {
      let token: CancelToken
      let order: Int
      /// Takes the token out when its future has completed.
      var observation: FutureObservation?
    }

    private let lock = Lock()
    private var items: [ObjectIdentifier: Item] = [:]
    private var inserted = 0

    func insert(_ token: CancelToken) {
      lock.withLock {
        guard items[ObjectIdentifier(token)] == nil else { return }
        items[ObjectIdentifier(token)] = Item(token: token, order: inserted)
        inserted += 1
      }
    }

    /// Ends the observation instead where the token has left the bag, or has one already.
    func add(_ observation: FutureObservation, for token: CancelToken) {
      let isAdded = lock.withLock {
        guard let item = items[ObjectIdentifier(token)], item.observation == nil else { return false }
        items[ObjectIdentifier(token)]?.observation = observation
        return true
      }
      if !isAdded { observation.remove() }
    }

    func remove(_ id: ObjectIdentifier) {
      let removed = lock.withLock { items.removeValue(forKey: id) }
      _ = removed  // Freed here, not under the lock.
    }

    /// The tokens in the order in which they came.
    func removeAll() -> [CancelToken] {
      let removed = lock.withLock {
        defer { items = [:] }
        return items.values
      }
      for item in removed { item.observation?.remove() }
      return removed.sorted { $0.order < $1.order }.map(\.token)
    }
  }
}

extension CancelToken {
  /// Puts this token into a bag that cancels it.
  public func store(in bag: CancelBag) {
    bag.insert(self)
  }
}
