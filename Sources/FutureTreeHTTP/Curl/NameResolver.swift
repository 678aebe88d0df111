#if os(Linux)
  import Foundation
  import FutureTree

  /// The lookups of names of one engine, with `getaddrinfo` on a few threads.
  ///
  /// libcurl has its own lookup, with two faults: a request that is cancelled waits for its lookup on the thread of all requests
  /// (before libcurl 7.87), and each lookup has a thread of its own, also if many look up the same name. Here a name is looked up
  /// once for all that wait for it, and nothing waits for a thread.
  ///
  /// It is used on the thread of the engine. Lookups complete on other threads.
  final class NameResolver {
    /// A host and a port of a connection. libcurl stores addresses for both.
    struct Name: Hashable, Sendable {
      var host: String
      var port: UInt16
    }

    /// The addresses of a name, in the order in which they are tried.
    struct Found: Sendable, Equatable {
      var name: Name
      var addresses: [String]
    }

    /// How long addresses are used, as in libcurl.
    private static let lifetime = Duration.seconds(60)

    private let fixed: [String: [String]]
    private let clock: any FutureClock
    private let resolve: @Sendable (Name) throws(HTTPError) -> [String]
    private let flights = SingleFlight<Name, [String]>()
    private let found = Locked<[Name: (addresses: [String], expiry: Duration)]>([:])

    /// - Parameters:
    ///   - fixed: Addresses by host, which are not looked up.
    ///   - resolve: Looks a name up. It blocks its thread.
    init(
      fixed: [String: [String]], clock: any FutureClock = .system,
      resolve: @escaping @Sendable (Name) throws(HTTPError) -> [String]
    ) {
      self.fixed = fixed
      self.clock = clock
      self.resolve = resolve
    }

    /// Returns the addresses of names that need no lookup, or `nil` if one of them needs it.
    func known(_ names: [Name]) -> [Found]? {
      let now = clock.now
      let stored = names.compactMap { known($0, now) }
      return stored.count == names.count ? stored : nil
    }

    /// Looks names up that are not known.
    func look(up names: [Name]) -> Future<[Found]> {
      let now = clock.now
      return Future.all(
        names.map { name in
          if let stored = known(name, now) { return .succeeded(stored) }
          return begin(name).map { Found(name: name, addresses: $0) }
        })
    }

    private func known(_ name: Name, _ now: Duration) -> Found? {
      if let addresses = fixed[name.host] { return Found(name: name, addresses: addresses) }
      return found.withLock { found in
        guard let entry = found[name], entry.expiry > now else { return nil }
        return Found(name: name, addresses: entry.addresses)
      }
    }

    private func begin(_ name: Name) -> Future<[String]> {
      flights.load(name) { [resolve, found, clock] in
        Future(on: .lookups) { try resolve(name) }.map { addresses in
          let expiry = clock.now + NameResolver.lifetime
          found.withLock { $0[name] = (addresses, expiry) }
          return addresses
        }.shielded()  // A cancelled lookup continues, and serves the next request.
      }
    }
  }

  // MARK: - The system

  extension NameResolver {
    /// Looks a name up with the functions of the system, which read `/etc/hosts` and ask the name servers.
    static func systemAddresses(of name: Name) throws(HTTPError) -> [String] {
      var hints = addrinfo()
      hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
      hints.ai_flags = AI_ADDRCONFIG
      var list: UnsafeMutablePointer<addrinfo>?
      let result = getaddrinfo(name.host, nil, &hints, &list)
      defer { if let list { freeaddrinfo(list) } }
      guard result == 0 else {
        throw result == EAI_AGAIN
          ? HTTPError(
            .unknownHost,
            "No name server answered for the host \(name.host). Check the network connection, and load again.")
          : ConnectionFault.unknownHost(name.host).error()
      }
      var addresses: [String] = []
      var next = list
      while let entry = next {
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        if getnameinfo(
          entry.pointee.ai_addr, entry.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
        {
          let address = text.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
          let written = entry.pointee.ai_family == AF_INET6 ? "[\(address)]" : address
          if !addresses.contains(written) { addresses.append(written) }
        }
        next = entry.pointee.ai_next
      }
      guard !addresses.isEmpty else { throw ConnectionFault.unknownHost(name.host).error() }
      return addresses
    }

    static func error(_ error: any Error) -> HTTPError {
      error as? HTTPError
        ?? HTTPError(.transportFailed, "The lookup of a name failed. Load again.", underlying: error)
    }
  }

  extension FutureExecutor {
    /// The threads of lookups, which all loaders share. More lookups wait for a thread.
    fileprivate static let lookups: FutureExecutor = {
      let queue = OperationQueue()
      queue.name = "FutureTree.lookups"
      queue.maxConcurrentOperationCount = 16
      return .custom { job in queue.addOperation(job) }
    }()
  }
#endif
