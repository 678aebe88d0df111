#if os(Linux)
  import FutureTree
  import FutureTreeTesting
  import TestSupport
  import Testing

  @testable import FutureTreeHTTP

  @Suite("CurlLoader: lookups of names") struct NameResolverTests {
    typealias Name = NameResolver.Name

    private let clock = ManualClock()
    private let asked = Recorder()

    private func resolver(
      fixed: [String: [String]] = [:],
      _ resolve: @escaping @Sendable (Name) throws(HTTPError) -> [String] = { _ in ["192.0.2.1"] }
    ) -> NameResolver {
      NameResolver(fixed: fixed, clock: clock) { [asked] name throws(HTTPError) in
        asked(name.host)
        return try resolve(name)
      }
    }

    private func addresses(_ lookup: Future<[NameResolver.Found]>) async throws -> [[String]] {
      try await lookup.value.map(\.addresses)
    }

    @Test("A name is looked up once, until its addresses are old")
    func once() async throws {
      let resolver = resolver()
      let name = Name(host: "a.example", port: 80)

      try await expectEqual(addresses(resolver.look(up: [name])), [["192.0.2.1"]])
      expectEqual(resolver.known([name])?.map(\.addresses), [["192.0.2.1"]])
      clock.advance(by: .seconds(60))
      #expect(resolver.known([name]) == nil)
      try await expectEqual(addresses(resolver.look(up: [name])), [["192.0.2.1"]])

      expectEqual(asked.entries, ["a.example", "a.example"])
    }

    @Test("Requests that wait for one name share a lookup, and a cancelled one disturbs no other")
    func shared() async throws {
      let (began, ends) = (Promise<Void>(), Promise<Void>())
      let resolver = resolver { _ in
        began.succeed()
        _ = try? ends.future.wait(for: .seconds(600))
        return ["192.0.2.1"]
      }
      let name = Name(host: "a.example", port: 80)
      #expect(resolver.known([name]) == nil)
      let (first, second) = (resolver.look(up: [name]), resolver.look(up: [name]))
      _ = await began.future.outcome

      first.cancel()
      ends.succeed()

      let found = try await second.value
      expectEqual(found.map(\.addresses), [["192.0.2.1"]])
      expectEqual(asked.entries, ["a.example"])
    }

    @Test("A failed lookup is repeated by the next request")
    func failed() async throws {
      let isUp = Locked(false)
      let resolver = resolver { name throws(HTTPError) in
        guard isUp.value else { throw HTTPError(.unknownHost, "no") }
        return ["[2001:db8::1]"]
      }
      let name = Name(host: "a.example", port: 80)

      await #expect(throws: HTTPError.self) { try await addresses(resolver.look(up: [name])) }
      isUp.value = true
      try await expectEqual(addresses(resolver.look(up: [name])), [["[2001:db8::1]"]])
    }

    @Test("Addresses of the configuration are not looked up")
    func fixed() async throws {
      let resolver = resolver(fixed: ["a.example": ["192.0.2.9"]])

      let found = try await addresses(
        resolver.look(up: [Name(host: "a.example", port: 80), Name(host: "b.example", port: 80)]))

      expectEqual(found, [["192.0.2.9"], ["192.0.2.1"]])
      expectEqual(asked.entries, ["b.example"])
    }

    @Test("The system knows localhost, and IPv6 addresses are in brackets")
    func system() throws {
      let addresses = try NameResolver.systemAddresses(of: Name(host: "localhost", port: 80))

      #expect(!addresses.isEmpty && addresses.allSatisfy { $0 == "127.0.0.1" || $0 == "[::1]" })
      let error = #expect(throws: HTTPError.self) {
        try NameResolver.systemAddresses(of: Name(host: "name.invalid", port: 80))
      }
      expectEqual(error?.code, .unknownHost)
    }
  }
#endif
