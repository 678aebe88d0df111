#if os(Linux)
  internal import CCurl
  import Foundation

  /// The bell of an engine: any thread rings it, and the thread of the engine wakes.
  final class CurlBell: Sendable {
    let descriptor: Int32

    init() { descriptor = eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC)) }

    deinit { close(descriptor) }

    func ring() {
      var one: UInt64 = 1
      _ = write(descriptor, &one, 8)
    }

    func silence() {
      var count: UInt64 = 0
      _ = read(descriptor, &count, 8)
    }
  }

  /// The sockets of an engine in epoll. It is used on the thread of the engine.
  ///
  /// # Invariants
  /// 1. `table` has what epoll watches: each action of the table is performed at once.
  /// 2. An event is passed on only if libcurl waits for the socket at that moment. An event before it in the same list can have
  ///    changed that.
  final class CurlPoller {
    private let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    private let bell: CurlBell
    private var table = PollTable()
    private let events = UnsafeMutableBufferPointer<epoll_event>.allocate(capacity: 256)

    init(_ bell: CurlBell) {
      self.bell = bell
      _ = control(EPOLL_CTL_ADD, bell.descriptor, .read)
    }

    deinit {
      close(epoll)
      events.deallocate()
    }

    func interestChanged(_ interest: PollTable.Interest, of descriptor: Int32) {
      perform(table.interestChanged(interest, of: descriptor), on: descriptor)
    }

    /// Registers that a descriptor belongs to a new socket, or to none.
    func forget(_ descriptor: Int32) { table.forget(descriptor) }

    /// Waits for events.
    ///
    /// - Parameter milliseconds: The time limit, or -1 for none.
    /// - Returns: The number of events.
    func wait(_ milliseconds: Int32) -> Int {
      max(0, Int(epoll_wait(epoll, events.baseAddress, Int32(events.count), milliseconds)))
    }

    /// Passes the events of the last wait on.
    func forEach(_ count: Int, _ body: (Int32, CurlEvents) -> Void) {
      for index in 0..<count {
        let (descriptor, mask) = (events[index].data.fd, events[index].events)
        guard descriptor != bell.descriptor else {
          bell.silence()
          continue
        }
        if let action = table.eventArrived(at: descriptor) {
          perform(action, on: descriptor)
        } else {
          var happened: CurlEvents = []
          if mask & EPOLLIN.rawValue != 0 { happened.insert(.readable) }
          if mask & EPOLLOUT.rawValue != 0 { happened.insert(.writable) }
          if mask & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { happened.insert(.failed) }
          body(descriptor, happened)
        }
      }
    }

    private func perform(_ action: PollTable.Action, on descriptor: Int32) {
      switch action {
      case .none: break
      case .add(let interest):
        // The kernel can know the socket, if libcurl gave it away and took it back.
        if !control(EPOLL_CTL_ADD, descriptor, interest) { _ = control(EPOLL_CTL_MOD, descriptor, interest) }
      case .change(let interest):
        if !control(EPOLL_CTL_MOD, descriptor, interest) { _ = control(EPOLL_CTL_ADD, descriptor, interest) }
      case .remove: _ = control(EPOLL_CTL_DEL, descriptor, [])
      }
    }

    private func control(_ operation: Int32, _ descriptor: Int32, _ interest: PollTable.Interest) -> Bool {
      var event = epoll_event()
      if interest.contains(.read) { event.events |= EPOLLIN.rawValue }
      if interest.contains(.write) { event.events |= EPOLLOUT.rawValue }
      event.data.fd = descriptor
      return epoll_ctl(epoll, operation, descriptor, &event) == 0
    }
  }

  /// What happened at a socket, in the bits of libcurl.
  struct CurlEvents: OptionSet {
    let rawValue: Int32

    static let readable = CurlEvents(rawValue: 1)
    static let writable = CurlEvents(rawValue: 2)
    static let failed = CurlEvents(rawValue: 4)
  }
#endif
