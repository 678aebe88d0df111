#if FUTURETREE_EXPLORER && canImport(Glibc)
  import Glibc

  /// The stack of a thread of the explorer. A switch takes a microsecond, and ten between system threads.
  ///
  /// A fiber uses the contexts of glibc, called through pointers: Swift imports no function with variable arguments and no
  /// function that returns twice. A context is only made and switched to here, so that none returns twice.
  final class Fiber {
    private typealias Context = UnsafeMutablePointer<ucontext_t>
    private typealias Get = @convention(c) (Context) -> Int32
    private typealias Make = @convention(c) (Context, @convention(c) () -> Void, Int32) -> Void
    private typealias Swap = @convention(c) (Context, Context) -> Int32

    private static func function<Type>(_ name: String, as type: Type.Type) -> Type {
      guard let symbol = dlsym(dlopen(nil, RTLD_NOW), name) else { preconditionFailure("no \(name) in this libc") }
      return unsafeBitCast(symbol, to: type)
    }

    private static let get = function("getcontext", as: Get.self)
    private static let make = function("makecontext", as: Make.self)
    private static let swap = function("swapcontext", as: Swap.self)
    private static let stackSize = 512 * 1024

    private let context = Context.allocate(capacity: 1)
    private let stack: UnsafeMutableRawPointer?
    private let body: (() -> Void)?
    /// The fiber that begins: a context receives no argument. One system thread explores at a time.
    private nonisolated(unsafe) static var beginning: Fiber?

    /// Makes a fiber for the running stack.
    init() {
      stack = nil
      body = nil
    }

    /// Makes a fiber with a stack of its own.
    ///
    /// - Parameter body: A closure that must not return.
    init(_ body: @escaping () -> Void) {
      self.body = body
      stack = .allocate(byteCount: Fiber.stackSize, alignment: 16)
      _ = Fiber.get(context)
      context.pointee.uc_stack.ss_sp = stack
      context.pointee.uc_stack.ss_size = Fiber.stackSize
      context.pointee.uc_link = nil
      Fiber.make(context, { Fiber.begin() }, 0)
    }

    deinit {
      stack?.deallocate()
      context.deallocate()
    }

    private static func begin() {
      beginning?.body?()
      preconditionFailure("the body of a fiber must not return")
    }

    /// Continues at `other`. Returns when another fiber switches to this one.
    func `switch`(to other: Fiber) {
      Fiber.beginning = other
      _ = Fiber.swap(context, other.context)
    }
  }
#endif
