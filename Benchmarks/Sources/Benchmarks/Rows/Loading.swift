import Foundation
import FutureTree
import FutureTreeHTTP
import Measuring
import Works

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension Row {
  /// One load through ten layers, which a `MockLoader` answers at once. The peer is one request of a `URLSession` to a loopback
  /// server in another process. Both are measured in processor time of this process.
  ///
  /// 300 concurrent requests over six connections: a `URLSessionLoader` against plain data tasks of a session with the same
  /// configuration, in elapsed time. The responses have five bytes or 100,000.
  ///
  /// A session with a delegate that only counts shows the platform's cost of delegate calls.
  static let loading = [
    Row(
      "a load through ten layers", against: "a bare `dataTask`, processor time", .timesTheCost, ours: tenLayers,
      theirs: processorTimeOfDataTasks),
    Row("`URLSessionLoader`", against: "a bare `dataTask`", ours: loads { Chains.loads($0, "/") }, theirs: dataTasks),
    Row(
      "`URLSession` with a delegate", against: "a bare `dataTask`", ours: loads { Chains.delegateTasks($0) },
      theirs: dataTasks
    ),
    Row(
      "`URLSessionLoader`, 100 KB", against: "a bare `dataTask`", ours: loads { Chains.loads($0, "/large") },
      theirs: loads { Chains.dataTasks($0, "/large") }),
  ]

  private static let tenLayers = Work("request", operations: OurWorks.layers.operations) { repetitions in
    processorTime { _ = OurWorks.layers.run(repetitions) }
  }

  private static let processorTimeOfDataTasks = Work("request", operations: 100) { repetitions in
    processorTime {
      for _ in 0..<repetitions { Chains.dataTasks(100, "/") }
    }
  }

  private static let dataTasks = loads { Chains.dataTasks($0, "/") }

  /// 300 concurrent loads.
  private static func loads(_ load: @escaping @Sendable (_ count: Int) -> Void) -> Work {
    Work("request", operations: 300) { repetitions in
      timed {
        for _ in 0..<repetitions { load(300) }
      }
    }
  }

  /// Returns the nanoseconds of processor time that all threads of this process use during `body`.
  private static func processorTime(_ body: () -> Void) -> Double {
    let start = processorTimeNow()
    body()
    return processorTimeNow() - start
  }

  private static func processorTimeNow() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
  }
}

/// The requests and the chains.
private enum Chains {
  static func request(_ url: String) -> HTTPRequest {
    do { return try HTTPRequest(url) } catch { preconditionFailure("\(error)") }
  }

  private static let loader = URLSessionLoader()

  static func loads(_ count: Int, _ path: String) {
    let request = request(ServerProcess.shared.url(path))
    let all = Future.all((0..<count).map { _ in loader.load(request) })
    do {
      guard case .success(let responses)? = try all.wait(for: .seconds(60)) else {
        preconditionFailure("the server does not answer")
      }
      consume(responses.count)
    } catch {
      preconditionFailure("\(error)")
    }
  }

  private static let plain = {
    let plain = URLSessionConfiguration.ephemeral
    plain.urlCache = nil
    plain.requestCachePolicy = .reloadIgnoringLocalCacheData
    plain.httpCookieStorage = nil
    plain.httpShouldSetCookies = false
    plain.httpCookieAcceptPolicy = .never
    plain.urlCredentialStorage = nil
    plain.httpMaximumConnectionsPerHost = 6
    return plain
  }()

  private static let session = URLSession(configuration: plain)

  static func dataTasks(_ count: Int, _ path: String) {
    let group = DispatchGroup()
    let url = url(path)
    for _ in 0..<count {
      group.enter()
      session.dataTask(with: plainRequest(url)) { data, _, _ in
        consume(data?.count ?? 0)
        group.leave()
      }.resume()
    }
    group.wait()
  }

  private static let delegate = CountingDelegate()
  private static let sessionWithDelegate = URLSession(configuration: plain, delegate: delegate, delegateQueue: nil)

  static func delegateTasks(_ count: Int) {
    let url = url("/")
    for _ in 0..<count {
      delegate.group.enter()
      sessionWithDelegate.dataTask(with: plainRequest(url)).resume()
    }
    delegate.group.wait()
  }

  private static func url(_ path: String) -> URL {
    guard let url = URL(string: ServerProcess.shared.url(path)) else { preconditionFailure("the server has no URL") }
    return url
  }

  private static func plainRequest(_ url: URL) -> URLRequest {
    var request = URLRequest(url: url)
    request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
    return request
  }
}

/// A delegate that only counts bytes.
private final class CountingDelegate: NSObject, URLSessionDataDelegate {
  let group = DispatchGroup()

  func urlSession(_: URLSession, dataTask _: URLSessionDataTask, didReceive data: Data) { consume(data.count) }

  func urlSession(_: URLSession, task _: URLSessionTask, didCompleteWithError _: (any Error)?) { group.leave() }
}
