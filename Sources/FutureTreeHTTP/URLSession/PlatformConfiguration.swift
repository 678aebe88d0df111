import Foundation
import FutureTree

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Functions that read and check a `URLSessionConfiguration`.
enum PlatformConfiguration {
  static func copy(_ platform: URLSessionConfiguration) -> URLSessionConfiguration {
    guard let copy = platform.copy() as? URLSessionConfiguration else {
      preconditionFailure("The URLSessionConfiguration cannot be copied. Pass an instance of the platform's own class.")
    }
    return copy
  }

  /// Refuses settings that would break the contract of a loader, or would be ignored silently although that is dangerous.
  static func check(_ platform: URLSessionConfiguration) throws(HTTPError) {
    guard platform.identifier == nil else {
      throw fault("identifier", "Background sessions cannot confirm a cancellation. Use .default or .ephemeral.")
    }
    let own = Set([URLSessionConfiguration.default, .ephemeral].flatMap(protocolClasses))
    guard own.isSuperset(of: protocolClasses(of: platform)) else {
      throw fault(
        "protocolClasses", "Protocol classes can respond in place of the server. Use a layer or another loader.")
    }
    #if canImport(FoundationNetworking)
      guard platform.connectionProxyDictionary?.isEmpty ?? true else {
        throw fault(
          "connectionProxyDictionary",
          "URLSession on Linux ignores it and would connect directly. Set http_proxy and https_proxy in the environment."
        )
      }
    #endif
  }

  private static func protocolClasses(of platform: URLSessionConfiguration) -> [ObjectIdentifier] {
    (platform.protocolClasses ?? []).map { ObjectIdentifier($0) }
  }

  /// - Returns: The duration. `nil` for no limit.
  static func duration(_ seconds: TimeInterval, of property: String) throws(HTTPError) -> Duration? {
    guard seconds > 0 else {
      throw fault(property, "The value is not a positive number. Pass seconds, or infinity for no limit.")
    }
    return seconds < Double(Duration.century.components.seconds) ? .seconds(seconds) : nil
  }

  static func headers(_ fields: [AnyHashable: Any]) throws(HTTPError) -> HTTPHeaders {
    var headers = HTTPHeaders()
    for (name, value) in fields {
      guard let name = name as? String, let value = value as? String else {
        throw fault("httpAdditionalHeaders", "A name or a value is not a String. Use String for both.")
      }
      try HTTPRequest.checkIsAllowed(name)
      try headers.add(name, value)
      guard !SensitiveHeaders.known.contains(name) else {
        throw fault(
          "httpAdditionalHeaders",
          "The field \(name) is secret, and would be sent to every origin. Use BearerAuth, BasicAuth or your own layer."
        )
      }
      guard name.lowercased() != "accept-encoding" else {
        throw fault("httpAdditionalHeaders", "The loader sets Accept-Encoding. Use acceptsEncodedBodies instead.")
      }
    }
    return headers
  }

  private static func fault(_ property: String, _ reason: String) -> HTTPError {
    HTTPError(
      .invalidConfiguration, "The property \(property) of the URLSessionConfiguration cannot be used. \(reason)")
  }
}
