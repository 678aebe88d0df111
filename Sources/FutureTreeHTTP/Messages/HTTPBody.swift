import Foundation

/// The body of a request.
///
/// ```swift
/// request.body = .data(Data("name=Ada".utf8), contentType: "application/x-www-form-urlencoded")
/// ```
public struct HTTPBody: Sendable, Hashable {
  private enum Content: Hashable {
    case empty
    case data(Data)
  }

  private let content: Content

  /// What the body is, as the value of `Content-Type`; nil if there is no body.
  public let contentType: String?

  /// No body.
  public static let empty = HTTPBody(content: .empty, contentType: nil)

  /// Bytes in memory. Without a type they are sent as `application/octet-stream`, so that no platform invents another.
  public static func data(_ data: Data, contentType: String = "application/octet-stream") -> HTTPBody {
    HTTPBody(content: .data(data), contentType: contentType)
  }

  /// Whether there is nothing to send. A body of no bytes is a body.
  public var isEmpty: Bool { content == .empty }

  /// Whether the same body can be sent a second time, as retries and redirects must.
  public var isReplayable: Bool { true }

  /// How many bytes will be sent.
  public var contentLength: Int { data?.count ?? 0 }

  var data: Data? {
    switch content {
    case .empty: nil
    case .data(let data): data
    }
  }
}

extension HTTPBody: CustomStringConvertible, CustomReflectable {
  /// The type and the size, without the bytes, which may be secret.
  public var description: String { contentType.map { "\(contentLength) bytes of \($0)" } ?? "empty" }

  public var customMirror: Mirror { Mirror(self, children: ["body": description], displayStyle: .struct) }
}
