#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Returns the resident memory of the process in bytes. For tests in a process of their own.
func residentBytes() -> Int {
  #if canImport(Darwin)
    var info = mach_task_basic_info()
    var count = mach_msg_type_number_t(MemoryLayout<mach_task_basic_info>.size / MemoryLayout<natural_t>.size)
    let status = withUnsafeMutablePointer(to: &info) { pointer in
      pointer.withMemoryRebound(to: integer_t.self, capacity: Int(count)) {
        task_info(mach_task_self_, task_flavor_t(MACH_TASK_BASIC_INFO), $0, &count)
      }
    }
    precondition(status == KERN_SUCCESS, "task_info failed with \(status)")
    return Int(info.resident_size)
  #else
    // The second number is the count of resident pages.
    guard let file = fopen("/proc/self/statm", "r") else { preconditionFailure("no /proc/self/statm") }
    defer { fclose(file) }
    var (size, resident) = (0, 0)
    withUnsafeMutablePointer(to: &size) { size in
      withUnsafeMutablePointer(to: &resident) { resident in
        let read = withVaList([size, resident]) { vfscanf(file, "%ld %ld", $0) }
        precondition(read == 2, "/proc/self/statm has another form")
      }
    }
    return resident * sysconf(Int32(_SC_PAGESIZE))
  #endif
}
