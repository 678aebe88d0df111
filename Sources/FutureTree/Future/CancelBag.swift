/// A collection of tokens that are cancelled together: by `cancel()`, or when the bag is deallocated.
///
/// ```swift
/// final class Screen {
///   private let bag = CancelBag()
///   func show() { bag.insert(loadFeed().map(on: .main) { feed in list.show(feed) }) }
/// }  // When the screen is deallocated, the feed is asked to cancel, unless another screen waits for it.
/// ```
///
/// Store the last future of a chain. The bag holds a token of that future alone: another future that is derived from the same
/// source is another consumer, so the source continues for it.
///
/// ```swift
/// let feed = loadFeed()
/// feed.map(on: .main) { feed in list.show(feed) }.store(in: bag)
/// feed.map { feed in print(feed) }.store(in: bag)  // Without `store`, the bag could not stop the load.
/// ```
///
/// In debug builds, a bag that could not stop its work for this reason prints so when it is deallocated.
///
/// When the bag is deallocated, each token requests cancellation with `doNotForwardIfOthersWaiting`. Work that other
/// consumers wait for continues. `cancel()` uses the options of the call. See <doc:Cancellation#Tokens>.
///
/// A bag removes a token when its future completes, so the bag of a long-lived object does not grow. See
/// <doc:Cancellation#Bounded-memory>.
public final class CancelBag: Sendable {
  private let contents = Contents()

  /// Creates an empty bag.
  public init() {}

  deinit {
    let reason = CancellationReason.of(.abandoned, "the cancel bag was deallocated")
    cancelAll(CancelRequest(options: .doNotForwardIfOthersWaiting, reason: reason)) { token, receipt in
      #if DEBUG
        if case .withheld = receipt.effect { token.explainWithheld() }
      #endif
    }
  }

  /// Inserts a token. The bag removes the token when its future completes.
  ///
  /// - Complexity: O(1).
  public func insert(_ token: CancelToken) {
    contents.insert(token)
    let observation = token.whenCompleted { [weak contents, id = ObjectIdentifier(token)] in contents?.remove(id) }
    if let observation { contents.add(observation, for: token) }
  }

  /// Creates a token for a future and inserts it.
  ///
  /// ```swift
  /// bag.insert(api.get("feed", as: Feed.self))
  /// ```
  ///
  /// - Complexity: O(1).
  public func insert<Value>(_ future: Future<Value>) {
    insert(future.cancelToken())
  }

  /// Cancels every token in the bag in insertion order, and empties the bag.
  ///
  /// The bag can be used again. The call does not affect tokens that are inserted later.
  public func cancel(
    _ options: CancellationOptions = [], reason: CancellationReason? = nil, fileID: String = #fileID, line: UInt = #line
  ) {
    let reason = (reason ?? .unspecified).asked(fileID: fileID, line: line)
    cancelAll(CancelRequest(options: options, reason: reason)) { _, _ in }
  }

  private func cancelAll(_ request: CancelRequest, _ receive: (CancelToken, CancelReceipt) -> Void) {
    for token in contents.removeAll() {
      let reason = request.reason
      receive(token, token.cancel(request.options, reason: reason, fileID: reason.fileID, line: reason.line))
    }
  }

  private final class Contents: @unchecked Sendable {  // Because: `items` is guarded by `lock`.
    private struct Item {
      let token: CancelToken
      let order: Int
      /// Removes the token when its future completes.
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

    /// Stores the observation of a token. Removes the observation if the token left the bag or already has one.
    func add(_ observation: FutureObservation, for token: CancelToken) {
      let isAdded = lock.withLock {
        guard let item = items[ObjectIdentifier(token)], item.observation == nil else { return false }
        items[ObjectIdentifier(token)]?.observation = observation
        return true
      }
      if !isAdded { observation.remove() }
    }

    func remove(_ id: ObjectIdentifier) {
      lock.release { items.removeValue(forKey: id) }
    }

    /// Removes all tokens, and returns them in insertion order.
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
  /// Inserts this token into a bag, which cancels all its tokens together.
  public func store(in bag: CancelBag) {
    bag.insert(self)
  }
}

extension Future {
  /// Creates a token for this future, and inserts it into a bag. The last call of a chain.
  ///
  /// ```swift
  /// api.get("feed", as: Feed.self).map(on: .main) { feed in list.show(feed) }.store(in: bag)
  /// ```
  ///
  /// - Complexity: O(1).
  public func store(in bag: CancelBag) {
    bag.insert(self)
  }
}
