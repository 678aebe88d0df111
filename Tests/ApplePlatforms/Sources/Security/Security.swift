// Members of Foundation that exist only on platforms with Security.

import FoundationNetworking

public final class SecTrust {}

extension URLProtectionSpace {
  public var serverTrust: SecTrust? { nil }
}

extension URLCredential {
  public convenience init(trust: SecTrust) {
    self.init(user: "", password: "", persistence: .none)
  }
}
