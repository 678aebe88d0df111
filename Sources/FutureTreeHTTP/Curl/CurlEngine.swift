#if os(Linux)
  internal import CCurl
  import Foundation
  import FutureTree

  /// The engine of one loader: a thread that performs all its transfers over libcurl.
  ///
  ///     any thread ── command ──▶ mailbox ── bell ──▶ thread of the engine ── calls ──▶ libcurl
  ///                                                     ▲                                  │
  ///                                                     └─────────── callbacks ────────────┘
  ///
  /// libcurl is not safe to use on several threads, and cannot be called inside most of its callbacks. All calls are therefore made
  /// by commands on one thread. The thread waits in epoll for sockets, for the timer of libcurl, and for the bell. A caller rings
  /// only if the thread may be waiting.
  ///
  /// The thread ends when the engine was closed and the last transfer has ended.
  final class CurlEngine: Sendable {
    enum Command: Sendable {
      case begin(CurlTransfer)
      /// Begin a transfer whose names were looked up.
      case found(CurlTransfer, Result<[NameResolver.Found], HTTPError>)
      case stop(CurlTransfer)
      /// Continue a transfer that was paused.
      case resume(CurlTransfer)
      case close
    }

    private struct Mailbox {
      var commands: [Command] = []
      /// Whether the thread takes the commands without a bell.
      var isAwake = false
      var hasThread = false
    }

    private let mailbox = Locked(Mailbox())
    private let bell = CurlBell()
    let settings: CurlSettings

    init(_ settings: CurlSettings) { self.settings = settings }

    /// Gives the thread a command. The first one starts the thread.
    func submit(_ command: Command) {
      let (starts, rings) = mailbox.withLock { mailbox in
        defer { mailbox.isAwake = true }
        if !mailbox.hasThread, case .close = command { return (false, false) }
        defer { mailbox.hasThread = true }
        mailbox.commands.append(command)
        return (!mailbox.hasThread, mailbox.hasThread && !mailbox.isAwake)
      }
      if starts {
        let thread = Thread { [self] in CurlLoop(self, bell).run() }
        thread.name = "CurlLoader"
        thread.start()
      }
      if rings { bell.ring() }
    }

    /// Returns the commands that have arrived. If there are none, the thread is about to wait, and the next command rings.
    fileprivate func take() -> [Command] {
      mailbox.withLock { mailbox in
        var commands: [Command] = []
        swap(&commands, &mailbox.commands)
        mailbox.isAwake = !commands.isEmpty
        return commands
      }
    }

    /// Registers that the thread runs again.
    fileprivate func awoke() { mailbox.withLock { $0.isAwake = true } }
  }

  /// The loop of an engine. It is used on the thread of the engine only.
  ///
  /// # Invariants
  /// 1. A transfer is in `active` exactly while its handle is in the multi handle. It is retained there, because libcurl has an
  ///    unretained pointer to it.
  /// 2. The multi handle has an unretained pointer to the loop, which outlives it: `run` destroys the multi handle.
  /// 3. Between `ccurl_enter` and `ccurl_leave` the thread may call libcurl. It waits outside.
  /// 4. Handles are added to and removed from the multi handle by commands and results, never inside a callback.
  final class CurlLoop {
    private struct MultiOption {
      static let socketFunction: Int32 = 20001, socketData: Int32 = 10002, multiplexing: Int32 = 3
      static let timerFunction: Int32 = 20004, timerData: Int32 = 10005, maximumIdle: Int32 = 6
      static let maximumPerHost: Int32 = 7, maximumInAll: Int32 = 13
    }

    private let engine: CurlEngine
    private let multi: OpaquePointer
    private let poller: CurlPoller
    private let resolver: NameResolver
    private var active: [OpaquePointer: CurlTransfer] = [:]
    /// The transfers that wait outside libcurl: for a lookup, for a connection, or, after the end of libcurl, for their reader.
    private var waiting: Set<ObjectIdentifier> = []
    private var queue: LimitedQueue<(CurlTransfer, [NameResolver.Found])>
    /// The transfers whose connection is being opened and will be secured. libcurl wants to read from such a socket as soon as it is
    /// open, or closes it.
    private var opening: [Int32: CurlTransfer] = [:]
    /// When the timer of libcurl ends, on the clock of the system.
    private var deadline: Duration?
    private var isClosing = false

    fileprivate init(_ engine: CurlEngine, _ bell: CurlBell) {
      self.engine = engine
      ccurl_enter()
      multi = ccurl_multi_create()!  // It fails only without memory.
      ccurl_leave()
      poller = CurlPoller(bell)
      queue = LimitedQueue(perKey: engine.settings.maximumConnectionsPerHost, aging: nil)
      resolver = NameResolver(fixed: engine.settings.addresses, resolve: engine.settings.resolve)
    }

    fileprivate func run() {
      // A write to a closed TLS connection raises it.
      var signals = sigset_t()
      sigemptyset(&signals)
      sigaddset(&signals, SIGPIPE)
      pthread_sigmask(SIG_BLOCK, &signals, nil)
      ccurl_enter()
      prepare()
      while true {
        performCommands()
        if isClosing, active.isEmpty, waiting.isEmpty { break }
        let limit = timeout()
        ccurl_leave()
        let count = poller.wait(limit)
        engine.awoke()
        ccurl_enter()
        if let deadline, deadline <= SystemClock().now {
          self.deadline = nil
          ccurl_multi_act(multi, -1, 0)
        }
        poller.forEach(count) { descriptor, events in ccurl_multi_act(multi, descriptor, events.rawValue) }
        readResults()
      }
      withExtendedLifetime(self) { ccurl_multi_destroy(multi) }  // It calls the loop when it closes its sockets.
      ccurl_leave()
    }

    private func prepare() {
      let pointer = Unmanaged.passUnretained(self).toOpaque()
      ccurl_multi_set_pointer(multi, MultiOption.socketData, pointer)
      ccurl_multi_set_pointer(multi, MultiOption.timerData, pointer)
      ccurl_multi_set_socket_change(multi, MultiOption.socketFunction) { _, descriptor, interest, loop, _ in
        // 1 is reading, 2 writing, 3 both, and 4 the end of the interest.
        let interest = PollTable.Interest(rawValue: UInt8(truncatingIfNeeded: interest & 3))
        let loop = CurlLoop.loop(loop)
        loop.poller.interestChanged(interest, of: descriptor)
        if !loop.opening.isEmpty, interest == .read {
          loop.opening.removeValue(forKey: descriptor)?.exchange.begin(.securing)
        }
        return 0
      }
      ccurl_multi_set_timer_change(multi, MultiOption.timerFunction) { _, milliseconds, loop in
        // libcurl rounds its times down, so that a timer can end too early.
        CurlLoop.loop(loop).deadline =
          milliseconds < 0 ? nil : SystemClock().now + .milliseconds(milliseconds == 0 ? 0 : milliseconds + 1)
        return 0
      }
      let settings = engine.settings
      ccurl_multi_set_number(multi, MultiOption.multiplexing, settings.allowsHTTP2 ? 2 : 0)
      ccurl_multi_set_number(multi, MultiOption.maximumPerHost, settings.maximumConnectionsPerHost)
      ccurl_multi_set_number(multi, MultiOption.maximumInAll, settings.maximumConnections ?? 0)
      // A smaller limit closes connections in use, after a search through all of them. Idle ones are closed after two minutes.
      ccurl_multi_set_number(multi, MultiOption.maximumIdle, 1 << 20)
    }

    private static func loop(_ pointer: UnsafeMutableRawPointer?) -> CurlLoop {
      Unmanaged<CurlLoop>.fromOpaque(pointer!).takeUnretainedValue()
    }

    /// Returns the time limit of the next wait, in milliseconds, or -1 for none.
    private func timeout() -> Int32 {
      guard let deadline else { return -1 }
      let (seconds, fraction) = (deadline - SystemClock().now).components
      guard seconds >= 0, fraction >= 0 else { return 0 }
      return Int32(min(seconds, 1_000_000)) * 1000 + Int32((fraction + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
  }

  // MARK: - Transfers

  extension CurlLoop {
    private func performCommands() {
      while true {
        let commands = engine.take()
        if commands.isEmpty { return }
        for command in commands { perform(command) }
        readResults()
      }
    }

    private func perform(_ command: CurlEngine.Command) {
      switch command {
      case .begin(let transfer):
        guard transfer.isWanted else { return transfer.ended(.stopped) }
        let names = transfer.names
        if let found = resolver.known(names) { return begin(transfer, found) }
        waiting.insert(ObjectIdentifier(transfer))
        transfer.exchange.begin(.resolving)
        resolver.look(up: names).observe { [engine] outcome in
          engine.submit(.found(transfer, Result { try outcome.get() }.mapError { NameResolver.error($0) }))
        }
      case .found(let transfer, let result):
        // A transfer that was stopped during the lookup has ended.
        guard waiting.remove(ObjectIdentifier(transfer)) != nil else { return }
        guard transfer.isWanted else { return transfer.ended(.stopped) }
        switch result {
        case .success(let found): begin(transfer, found)
        case .failure(let error): transfer.ended(.failed(error))
        }
      case .stop(let transfer):
        if waiting.remove(ObjectIdentifier(transfer)) != nil {
          if let place = transfer.place.take() { queue.remove(place) }
          return transfer.ended(.stopped)
        }
        guard let handle = transfer.handle else { return }
        transfer.willEnd(handle)
        remove(handle, transfer)
        transfer.removed()
        if transfer.isHeld { waiting.insert(ObjectIdentifier(transfer)) }
      case .resume(let transfer):
        transfer.resume()
        if !transfer.isHeld { waiting.remove(ObjectIdentifier(transfer)) }
      case .close: isClosing = true
      }
    }

    /// Begins a transfer, or queues it until a connection to its host is free.
    ///
    /// libcurl also has a queue. For each transfer that ends, it begins several of this queue, and most of them wait again, behind all
    /// others. With 256 requests over 8 connections, this took a quarter of the processor time. Requests that may be HTTP/2 stay in the
    /// queue of libcurl, because only libcurl knows which of them can share a connection.
    private func begin(_ transfer: CurlTransfer, _ found: [NameResolver.Found]) {
      transfer.exchange.begin(.queued)
      guard let origin = transfer.limitedOrigin, !queue.hasRoom(for: origin) else { return start(transfer, found) }
      waiting.insert(ObjectIdentifier(transfer))
      transfer.place = queue.append((transfer, found), key: origin, level: 0, at: .zero)
    }

    private func beginQueued() {
      while let place = queue.first(), queue.remove(place) {
        let (transfer, found) = place.item
        transfer.place = nil
        waiting.remove(ObjectIdentifier(transfer))
        if transfer.isWanted { start(transfer, found) } else { transfer.ended(.stopped) }
      }
    }

    private func start(_ transfer: CurlTransfer, _ found: [NameResolver.Found]) {
      guard let handle = CurlHandle() else {
        return transfer.ended(
          .failed(HTTPError(.transportFailed, "There is no memory for the request. Load again later.")))
      }
      handle.setCloseSocket(
        { loop, descriptor in
          CurlLoop.loop(loop).forget(descriptor)
          return close(descriptor)
        }, Unmanaged.passUnretained(self).toOpaque())
      do throws(HTTPError) {
        try transfer.configure(handle, self, found, isOneOfMany: active.count > 64)
      } catch {
        transfer.handle = nil
        return transfer.ended(.failed(error))
      }
      if let origin = transfer.limitedOrigin { queue.began(origin) }
      active[handle.easy] = transfer
      ccurl_multi_add(multi, handle.easy)
    }

    private func readResults() {
      while let message = ccurl_multi_next_message(multi) {
        guard message.pointee.kind == 1, let easy = message.pointee.easy, let transfer = active[easy],
          let handle = transfer.handle
        else { continue }
        let result = message.pointee.data.result
        let text = result == 0 ? "" : handle.faultText(result)
        transfer.willEnd(handle)
        remove(handle, transfer)
        transfer.completed(result, text)
        if transfer.isHeld { waiting.insert(ObjectIdentifier(transfer)) }
      }
    }

    func remove(_ handle: CurlHandle, _ transfer: CurlTransfer) {
      ccurl_multi_remove(multi, handle.easy)
      active[handle.easy] = nil
      transfer.handle = nil
      guard let origin = transfer.limitedOrigin else { return }
      queue.ended(origin)
      beginQueued()
    }

    /// Registers a new socket, whose number can be that of a socket that libcurl closed without a report.
    ///
    /// - Parameter transfer: The transfer whose connection will be secured.
    func opened(_ descriptor: Int32, for transfer: CurlTransfer?) {
      forget(descriptor)
      if let transfer { opening[descriptor] = transfer }
    }

    private func forget(_ descriptor: Int32) {
      poller.forget(descriptor)
      if !opening.isEmpty { opening[descriptor] = nil }
    }
  }
#endif
