#if DEBUG
  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #elseif canImport(Android)
    import Android
  #endif

  extension CancelToken {
    /// Prints why the request of a deallocated bag had no effect, if the reason can be a mistake: futures derived from this one have
    /// interest in it, although nothing waits for the last of them.
    ///
    /// Only debug builds print, as the Swift runtime does for a continuation that is never resumed.
    func explainWithheld() {
      guard let node = pendingNode else { return }
      let name = node.lock.withLock { node.label }
      var (names, next, seen) = ([String](), [node], Set<ObjectIdentifier>())
      while let future = next.popLast() {
        guard seen.insert(ObjectIdentifier(future)).inserted else { continue }
        let (isPending, label, waiters) = future.lock.withLock {
          (future.state.isPending, future.label, future.waiters.entries.filter(\.isCounted))
        }
        let derived = waiters.compactMap(\.owner)
        guard isPending, derived.count == waiters.count, !(waiters.isEmpty && future === node) else { return }
        if derived.isEmpty { names.append(label) }
        next += derived.reversed()
      }
      let list = names.map { "\"\($0)\"" }.joined(separator: ", ")
      var line = """
        FutureTree: a deallocated CancelBag did not cancel "\(name)", because \(list) \(names.count == 1 ? "is" : "are") derived from it \
        and not in the bag. Store the last future of each chain in the bag.\n
        """
      line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
  }
#endif
