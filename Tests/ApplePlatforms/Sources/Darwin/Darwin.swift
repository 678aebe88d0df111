// Declarations that differ between Darwin and glibc, as far as the sources use them.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

@_exported import Glibc

/// On Darwin, the destructor receives a pointer that is not optional.
public func pthread_key_create(
  _: UnsafeMutablePointer<pthread_key_t>, _: (@convention(c) (UnsafeMutableRawPointer) -> Void)?
) -> Int32 { 0 }

extension sockaddr_in {
  public var sin_len: UInt8 {
    get { 0 }
    set {}
  }
}

public let SO_NOSIGPIPE: Int32 = 0x1022

extension stat {
  public var st_mtimespec: timespec { st_mtim }
}
