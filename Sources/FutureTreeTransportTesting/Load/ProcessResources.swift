import Foundation
import FutureTreeHTTPTesting

/// The resources that this process holds.
///
/// ```swift
/// print(ProcessResources.current)  // 12 descriptors, 7 threads, 31.4 MiB
/// ```
public struct ProcessResources: Sendable, Hashable {
  /// The number of open file descriptors.
  public var descriptors: Int
  /// The number of threads. `nil` on platforms other than Linux.
  public var threads: Int?
  /// The size of the resident memory in bytes, including freed memory that the process keeps. `nil` on platforms other than Linux.
  public var residentBytes: Int?

  /// Creates counts, for the tolerance of a load test. `nil` is not compared.
  public init(descriptors: Int, threads: Int? = nil, residentBytes: Int? = nil) {
    self.descriptors = descriptors
    self.threads = threads
    self.residentBytes = residentBytes
  }

  /// The resources that the process holds now.
  public static var current: ProcessResources {
    #if os(Linux) || os(Android)
      let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ").dropFirst()
        .first
      return ProcessResources(
        descriptors: entryCount(of: "/proc/self/fd") ?? 0, threads: entryCount(of: "/proc/self/task"),
        residentBytes: pages.flatMap { Int($0) }.map { $0 * Int(getpagesize()) })
    #else
      return ProcessResources(descriptors: entryCount(of: "/dev/fd") ?? 0)
    #endif
  }

  private static func entryCount(of directory: String) -> Int? {
    try? FileManager.default.contentsOfDirectory(atPath: directory).count
  }
}

extension ProcessResources: CustomStringConvertible {
  /// The counts, such as `12 descriptors, 7 threads, 31.4 MiB`.
  public var description: String {
    let memory = residentBytes.map { ", \(Double($0 * 10 / (1 << 20)) / 10) MiB" } ?? ""
    return "\(descriptors) descriptors" + (threads.map { ", \($0) threads" } ?? "") + memory
  }
}
