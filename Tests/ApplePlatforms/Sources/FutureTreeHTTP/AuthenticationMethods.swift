// Foundation on Linux marks these names as unavailable. The declarations of this module take precedence over imported ones.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"
let NSURLAuthenticationMethodClientCertificate = "NSURLAuthenticationMethodClientCertificate"
