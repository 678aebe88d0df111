import Foundation
import FutureTree
import FutureTreeHTTP

/// The work of an `OAuth2` layer for its credential, one task at a time. It has no state.
struct OAuth2Work: CredentialWork {
  let configuration: OAuth2Configuration
  let endpoint: TokenEndpoint
  let store: any CredentialStore
  let random: RandomSource
  let onSaveFailure: (@Sendable (any Error) -> Void)?

  /// Begins a task. A cancelled task does not begin its next step. Saving is not interrupted.
  func begin(_ task: CredentialTask) -> Future<OAuth2Credential?> {
    switch task.kind {
    case .loading: store.load().mapError { OAuth2Work.storeFailed("cannot be read", $0) }
    case .loggingIn, .renewing: loggedIn().flatMap { saved($0) }
    case .refreshing: renewed(task.current).flatMap { saved($0) }
    case .replacing: task.given.map { saved($0) } ?? .succeeded(nil)
    }
  }

  /// Empties the store.
  func delete() -> Future<Void> {
    store.delete().mapError { OAuth2Work.storeFailed("cannot be emptied", $0) }
  }

  private func loggedIn() -> Future<OAuth2Credential> {
    guard case .authorizationCode(let grant) = configuration.grant.kind else {
      return .failed(OAuth2State.authenticationRequired)
    }
    let logIn = AuthorizationCodeLogIn(grant, random: random)
    let page: URL
    do {
      page = try logIn.page(for: configuration, endpoint.rules)
    } catch {
      return .failed(error)
    }
    return presented(page, by: grant)
      .mapError {
        AuthorizationCodeLogIn.failed("could not be shown, or the user closed it. Log in again", underlying: $0)
      }
      .flatMap { url in endpoint.exchanged(try logIn.code(from: url), logIn) }
  }

  private func presented(_ page: URL, by grant: OAuth2Grant.AuthorizationCode) -> Future<URL> {
    do { return try grant.present(page) } catch { return .failed(error) }
  }

  private func renewed(_ current: OAuth2Credential?) -> Future<OAuth2Credential> {
    if case .clientCredentials = configuration.grant.kind { return endpoint.granted() }
    guard let current, let refreshToken = current.refreshToken else {
      return .failed(RenewalFailure(OAuth2State.authenticationRequired, isFinal: true))
    }
    return endpoint.refreshed(current, with: refreshToken)
  }

  /// Returns the credential after the attempt to save it. If saving fails, the credential exists only in memory.
  private func saved(_ credential: OAuth2Credential) -> Future<OAuth2Credential?> {
    let promise = Promise<OAuth2Credential?>()
    store.save(credential).observe { [onSaveFailure] outcome in
      switch outcome {
      case .success: break
      case .failure(let error): onSaveFailure?(error)
      case .cancelled(let reason): onSaveFailure?(FutureCancelled(reason: reason))
      }
      promise.succeed(credential)
    }
    return promise.future
  }

  private static func storeFailed(_ fault: String, _ error: any Error) -> HTTPError {
    if let error = error as? HTTPError { return error }
    return HTTPError(
      .credentialStoreFailed,
      "The credential store \(fault): \(type(of: error)). See `underlying`. A reset empties the store.",
      underlying: error)
  }
}
