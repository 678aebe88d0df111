import Dispatch
import Foundation
import FutureTree

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The transfers of one loader, by the identifiers of their tasks.
final class TransferTable: Sendable {
  private let transfers = Locked<[Int: Transfer]>([:])

  func assign(_ task: URLSessionTask, to transfer: Transfer) {
    transfers.withLock { $0[task.taskIdentifier] = transfer }
  }

  func transfer(of task: URLSessionTask) -> Transfer? {
    transfers.withLock { $0[task.taskIdentifier] }
  }

  func remove(_ task: URLSessionTask) {
    transfers.release { $0.removeValue(forKey: task.taskIdentifier) }
  }
}

/// The queues on which a loader calls its session and is called by it.
///
/// The session reads bodies on its own thread, and calls that create, start or cancel a task wait for that thread. These
/// calls are therefore made on a separate queue, never on the thread of the caller. The caller can be on the
/// session's own thread, or on a thread that must not wait for the source of a body. For the same reason no closures are
/// called on the session's own thread.
struct SessionQueues: Sendable {
  /// The queue on which tasks are created, started and cancelled, in this order.
  let commands: DispatchQueue
  /// The queue on which the delegate is called, one call at a time.
  let reports: OperationQueue

  #if canImport(FoundationNetworking)
    /// The commands of all loaders. All sessions share one thread, for which each command waits. With a queue for each loader, many
    /// loaders would occupy all threads of Dispatch, and the thread of the sessions could not run.
    private static let allCommands = DispatchQueue(label: "FutureTree.URLSessionLoader.commands")
  #endif

  init() {
    #if canImport(FoundationNetworking)
      commands = SessionQueues.allCommands
      reports = DirectOperationQueue()
    #else
      commands = DispatchQueue(label: "FutureTree.URLSessionLoader.commands")
      reports = OperationQueue()
      reports.maxConcurrentOperationCount = 1
      reports.name = "FutureTree.URLSessionLoader"
    #endif
  }
}

#if canImport(FoundationNetworking)
  /// A serial operation queue that passes each block to a dispatch queue, without an `Operation`.
  ///
  /// A session makes three calls for a small response. On Linux, their operations take a sixth of the time of the load.
  private final class DirectOperationQueue: OperationQueue, @unchecked Sendable {  // Because: its superclass is.
    private let queue = DispatchQueue(label: "FutureTree.URLSessionLoader")

    override func addOperation(_ block: @escaping @Sendable () -> Void) {
      queue.async(execute: block)
    }
  }
#endif

/// A delegate that forwards the events of each task to its transfer. It does not retain the loader.
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
    completionHandler(.allow)  // Linux ignores other values. A transfer stops a refused response itself.
  }

  func urlSession(_: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    transfers.transfer(of: dataTask)?.dataArrived(data)
  }

  func urlSession(
    _: URLSession, task: URLSessionTask, didSendBodyData _: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend _: Int64
  ) {
    transfers.transfer(of: task)?.exchange.bodySent(Int(clamping: totalBytesSent))
  }

  /// Provides the body of every request that has one. The platform calls this again if it sends the body again.
  func urlSession(
    _: URLSession, task: URLSessionTask, needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
  ) {
    completionHandler(transfers.transfer(of: task)?.openBody())
  }

  #if canImport(Darwin)  // On Linux, there are no metrics.
    func urlSession(_: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
      guard let exchange = metrics.transactionMetrics.last else { return }
      transfers.transfer(of: task)?.exchange.receiveTimings(HTTPTimings(exchange))
    }
  #endif

  func urlSession(_: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    guard let transfer = transfers.transfer(of: task) else { return }
    end(transfer, of: task, error)
  }

  /// Ends a transfer. The order matters: a reset waits for the transfer, and finds nothing of it in the table.
  func end(_ transfer: Transfer, of task: URLSessionTask?, _ error: (any Error)?) {
    if let task { transfers.remove(task) }
    transfer.ended(error, task)
  }

  /// Follows no redirect, because redirects belong to a layer. The response that redirects is delivered.
  func urlSession(
    _: URLSession, task: URLSessionTask, willPerformHTTPRedirection _: HTTPURLResponse, newRequest _: URLRequest,
    completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    transfers.transfer(of: task)?.reply { completionHandler(nil) }
  }

  /// Sends no credentials, because credentials belong to a layer. A 401 is delivered. On Linux it would never arrive
  /// without this reply.
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
    guard let transfer = transfers.transfer(of: task) else { return }
    transfer.challengeRefused()
    transfer.reply { completionHandler(.rejectProtectionSpace, nil) }
  }
}
