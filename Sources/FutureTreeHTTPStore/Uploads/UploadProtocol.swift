/// A protocol in which an upload continues after an interruption.
public enum UploadProtocol: String, Sendable, Hashable {
  /// tus 1.0.0, with its extension for creation: https://tus.io/protocols/resumable-upload.
  case tus
  /// The draft of the IETF, *Resumable Uploads for HTTP* (draft-ietf-httpbis-resumable-upload), with the interop version 8.
  case draft

  /// The interop version of the draft.
  static let interopVersion = "8"

  /// The media type of a part.
  var partType: String { self == .tus ? "application/offset+octet-stream" : "application/partial-upload" }
}
