/// The number of the current attempt to send a request, counted from 1. `Retry` sets it for the layers after it.
public enum RequestAttempt: HTTPRequestOption {
  /// The first attempt.
  public static var defaultValue: Int { 1 }
}

extension HTTPRequest {
  /// The number of the attempt, counted from 1. `Retry` sets it for the layers after it.
  public var attempt: Int {
    get { self[option: RequestAttempt.self] }
    set { self[option: RequestAttempt.self] = newValue }
  }
}
