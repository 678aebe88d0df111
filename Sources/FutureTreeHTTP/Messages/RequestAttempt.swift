/// How often a request has been sent with this one, counted from 1: `Retry` says so to the layers behind it.
public enum RequestAttempt: HTTPRequestOption {
  /// The first.
  public static var defaultValue: Int { 1 }
}
