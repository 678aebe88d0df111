// swift-tools-version: 6.2

// Three services as processes, in which a cancellation request and a deadline cross all processes. See Gateway.swift.

import PackageDescription

let package = Package(
  name: "Gateway",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "FutureTree", path: "../.."),
    .package(name: "FutureTreeAsyncHTTPClient", path: "../../Integrations/AsyncHTTPClient"),
    .package(name: "FutureTreeServer", path: "../../Integrations/Server"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
  ],
  targets: [
    .executableTarget(
      name: "Gateway",
      dependencies: [
        .product(name: "FutureTree", package: "FutureTree"),
        .product(name: "FutureTreeAsyncHTTPClient", package: "FutureTreeAsyncHTTPClient"),
        .product(name: "FutureTreeHTTP", package: "FutureTree"),
        .product(name: "FutureTreeHummingbird", package: "FutureTreeServer"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "FutureTreeTesting", package: "FutureTree"),
        .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
        .product(name: "NIOCore", package: "swift-nio"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
