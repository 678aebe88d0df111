import Dispatch
import Foundation
import FutureTree

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The transfers of one loader by the numbers of their tasks.
final class TransferTable: Sendable {
  private let transfers = Locked<[Int: Transfer]>([:])

  func assign(_ task: URLSessionTask, to transfer: Transfer) {
    transfers.withLock { $0[task.taskIdentifier] = transfer }
  }

  func transfer(of task: URLSessionTask) -> Transfer? {
    transfers.withLock { $0[task.taskIdentifier] }
  }

  func remove(_ task: URLSessionTask) {
    let removed = transfers.withLock { $0.removeValue(forKey: task.taskIdentifier) }
    _ = removed  // Freed here, not under the lock.
  }
}

/// Where a loader calls its session, and where it is called back.
///
/// The session reads bodies on a thread of its own, and who makes, starts or cancels a task waits for that thread. So these
/// calls are made on a queue of the loader, never where the caller is: that may be the thread itself, or one that must not
/// wait for the source of a body. For the same reason nobody is told anything on the session's own thread.
struct SessionQueues: Sendable {
  /// Tasks are made, started and cancelled here, in this order.
  let commands = DispatchQueue(label: "FutureTree.URLSessionLoader.commands")
  /// The delegate is called here, one call at a time.
  let reports: OperationQueue

  init() {
    #if canImport(FoundationNetworking)
      reports = DirectOperationQueue()
    #else
      reports = OperationQueue()
      reports.maxConcurrentOperationCount = 1
      reports.name = "FutureTree.URLSessionLoader"
    #endif
  }
}

#if canImport(FoundationNetworking)
  /// A serial operation queue that passes each block to a dispatch queue, without an `Operation`.
  ///
  /// A session makes three reports for a small response. On Linux, their operations take a sixth of the time of its load.
  private final class DirectOperationQueue: OperationQueue, @unchecked Sendable {  // Because: its superclass is.
    private let queue = DispatchQueue(label: "FutureTree.URLSessionLoader")

    override func addOperation(_ block: @escaping @Sendable () -> Void) {
      queue.async(execute: block)
    }
  }
#endif

/// Tells each transfer what its task reports. It does not retain the loader.
final class SessionDelegate: NSObject, URLSessionDataDelegate {
  private let transfers: TransferTable
  private let configuration: URLSessionLoader.Configuration

  init(_ transfers: TransferTable, _ configuration: URLSessionLoader.Configuration) {
    self.transfers = transfers
    self.configuration = configuration
  }

  func urlSession(
    _: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    if let response = response as? HTTPURLResponse { transfers.transfer(of: dataTask)?.headArrived(response) }
    completionHandler(.allow)  // Linux ignores anything else; a refused answer is stopped by its transfer.
  }

  func urlSession(_: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    transfers.transfer(of: dataTask)?.dataArrived(data)
  }

  func urlSession(
    _: URLSession, task: URLSessionTask, didSendBodyData _: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend _: Int64
  ) {
    transfers.transfer(of: task)?.bodySent(totalBytesSent)
  }

  /// The body of every request that has one is asked for here, and again where the platform wants to send it again.
  func urlSession(
    _: URLSession, task: URLSessionTask, needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
  ) {
    completionHandler(transfers.transfer(of: task)?.openBody())
  }

  func urlSession(_: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    guard let transfer = transfers.transfer(of: task) else { return }
    end(transfer, of: task, error)
  }

  /// In this order: a reset that begins meanwhile waits for it.
  func end(_ transfer: Transfer, of task: URLSessionTask?, _ error: (any Error)?) {
    transfer.ended(error, task)
    if let task { transfers.remove(task) }
    transfer.confirm()
  }

  /// Redirects belong to a layer: the answer that redirects arrives.
  func urlSession(
    _: URLSession, task _: URLSessionTask, willPerformHTTPRedirection _: HTTPURLResponse, newRequest _: URLRequest,
    completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    completionHandler(nil)
  }

  /// Credentials belong to a layer: a 401 arrives. Without an answer here it never would on Linux.
  func urlSession(
    _: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    #if canImport(Darwin)
      let space = challenge.protectionSpace
      switch space.authenticationMethod {
      case NSURLAuthenticationMethodServerTrust:
        switch space.serverTrust.flatMap({ configuration.serverTrust?($0, space.host) }) ?? .evaluateByPlatform {
        case .evaluateByPlatform: completionHandler(.performDefaultHandling, nil)
        case .trust: completionHandler(.useCredential, space.serverTrust.map { URLCredential(trust: $0) })
        case .refuse:
          transfers.transfer(of: task)?.trustRefused()
          completionHandler(.cancelAuthenticationChallenge, nil)
        }
        return
      case NSURLAuthenticationMethodClientCertificate:
        if let credential = configuration.clientCertificate?(space) {
          return completionHandler(.useCredential, credential)
        }
      default: break
      }
    #endif
    transfers.transfer(of: task)?.challengeRefused()
    completionHandler(.rejectProtectionSpace, nil)
  }
}
