// Foundation on Linux has these names, but marks them unavailable. In a module its own names come first.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"
let NSURLAuthenticationMethodClientCertificate = "NSURLAuthenticationMethodClientCertificate"
