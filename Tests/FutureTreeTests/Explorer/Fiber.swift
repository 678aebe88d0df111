#if FUTURETREE_EXPLORER && canImport(Glibc)
  import Glibc

  /// A stack on which a thread of the explorer runs. Switching costs a microsecond; between threads of the system, ten.
  ///
  /// Made with the contexts of glibc, which are called through pointers: Swift imports no function with variable arguments
  /// and none that returns twice. A context is only made and switched to here, so that none does return twice.
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
    /// What begins: a context is given no argument. One thread of the system explores at a time.
    private nonisolated(unsafe) static var beginning: Fiber?

    /// The stack that runs now.
    init() {
      stack = nil
      body = nil
    }

    /// A stack of its own.
    ///
    /// - Parameter body: must not return.
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

    /// Goes on at `other`. Returns when somebody goes on here.
    func `switch`(to other: Fiber) {
      Fiber.beginning = other
      _ = Fiber.swap(context, other.context)
    }
  }
#endif
