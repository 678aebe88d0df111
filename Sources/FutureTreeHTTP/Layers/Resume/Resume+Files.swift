import Foundation
import FutureTree

// A body for a file is received as a stream, written to a partial file, and moved to its destination.

extension Resume {
  /// Loads a request whose body is delivered to a file. Continues the partial file of an earlier load.
  func loadFile(
    _ request: HTTPRequest, to destination: URL, in directory: URL, next: any HTTPLoader
  ) -> Future<HTTPResponse> {
    let ended = beginFile()
    return Future.task { [self] in
      defer { ended.succeed() }
      try request[option: ResponseDelivery.self].checkFile()
      guard let file = try PartialFile(of: request, in: directory, for: destination) else {
        return try await next.load(request).outcome.get()
      }
      do {
        return try await receive(request, into: file, at: destination, next: next)
      } catch let error as HTTPError where error.code == .streamOverflow {
        // The body cannot be resumed, and arrives faster than it is written. Only the transport can write it.
        file.discard()
        return try await next.load(request).outcome.get()
      } catch {
        if error.endsPartialFile { file.discard() } else { file.keep() }
        throw error
      }
    }.named(.resume)
  }

  private func receive(
    _ request: HTTPRequest, into file: PartialFile, at destination: URL, next: any HTTPLoader
  ) async throws -> HTTPResponse {
    let onProgress = request[option: ProgressHandler.self]
    var request = request
    request[option: ProgressHandler.self] = nil
    let (response, state) = try await begin(request, file, next: next)
    guard let state else {
      file.keep()
      return response
    }
    var progress = state.progress
    onProgress?(HTTPProgress(received: progress))
    let (stream, writer) = HTTPBodyStream.makeStream(for: rules.transferRequest(request), clock: rules.clock)
    begin(ResumedBody(request, rules, next, writer), response.bodyStream, state)
    do {
      for try await bytes in stream {
        try file.append(bytes)
        progress.completed = file.size
        onProgress?(HTTPProgress(received: progress))
      }
    } catch {
      stream.transfer.cancel(reason: "the file failed or was cancelled")
      _ = await stream.transfer.outcome
      throw error
    }
    try file.commit()
    return try response.inFile(destination, size: file.size)
  }

  /// Loads the first response. Prepares the file for its body.
  ///
  /// - Returns: The response and the state of its body. The state is `nil` if the body does not belong into the file.
  private func begin(
    _ request: HTTPRequest, _ file: PartialFile, next: any HTTPLoader
  ) async throws -> (HTTPResponse, ResumeState?) {
    let maximumSize = request[option: ResponseDelivery.self].maximumSize ?? .max
    if var state = try file.makeState() {
      let rest = try state.request(from: rules.transferRequest(request))
      let response = try await next.load(rest).outcome.get()
      if response.status == HTTPStatus(206), let continues = try? state.accepts(response, maximumSize: maximumSize),
        continues
      {
        return (response, state)
      }
      if response.status != HTTPStatus(206), response.status != HTTPStatus(416) {
        return (response, try file.restart(with: response))
      }
      // The file belongs to another representation or another origin.
      response.stream?.transfer.cancel(reason: "the response does not continue the file")
    }
    try Task.checkCancellation()
    let response = try await next.load(rules.transferRequest(request)).outcome.get()
    return (response, try file.restart(with: response))
  }
}

extension PartialFile {
  /// Removes the bytes if the body of a response replaces them. Returns the state of that body.
  fileprivate func restart(with response: HTTPResponse) throws(HTTPError) -> ResumeState? {
    guard response.status.isSuccess, !response.status.hasNoBody else { return nil }
    let state = ResumeState(response)
    try restart(state)
    return state
  }
}

extension HTTPResponse {
  /// Returns the response that a single load of the whole body would have.
  fileprivate func inFile(_ url: URL, size: Int) throws(HTTPError) -> HTTPResponse {
    guard status == HTTPStatus(206) else { return replacingContent(.file(url, size: size)) }
    var headers = headers
    headers.remove("Content-Range")
    try headers.set("Content-Length", String(size))
    return HTTPResponse(to: request, status: .ok, headers: headers, content: .file(url, size: size))
  }
}

extension Error {
  /// Whether a later load cannot continue the file after this error.
  fileprivate var endsPartialFile: Bool {
    switch (self as? HTTPError)?.code {
    case .unwritableBody, .bodyTooLarge, .representationChanged, .resumedAtOtherOrigin, .invalidResponse: true
    default: false
    }
  }
}
