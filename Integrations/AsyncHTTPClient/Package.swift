// swift-tools-version: 6.2

// A transport over AsyncHTTPClient, and conversions for SwiftNIO. FutureTree itself has no dependencies. See README.md.

import PackageDescription

let package = Package(
  name: "FutureTreeAsyncHTTPClient",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2), .macCatalyst(.v18)],
  products: [
    .library(name: "FutureTreeNIO", targets: ["FutureTreeNIO"]),
    .library(name: "FutureTreeAsyncHTTPClient", targets: ["FutureTreeAsyncHTTPClient"]),
  ],
  dependencies: [
    .package(name: "FutureTree", path: "../.."),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
    .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.0"),
    .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
  ],
  targets: [
    .target(
      name: "FutureTreeNIO",
      dependencies: [
        .product(name: "FutureTree", package: "FutureTree"),
        .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
        .product(name: "NIOCore", package: "swift-nio"),
      ]),
    .target(
      name: "FutureTreeAsyncHTTPClient",
      dependencies: [
        "FutureTreeNIO",
        .product(name: "FutureTree", package: "FutureTree"),
        .product(name: "FutureTreeHTTP", package: "FutureTree"),
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
        .product(name: "NIOFoundationCompat", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOHTTP2", package: "swift-nio-http2"),
        .product(name: "NIOHTTPCompression", package: "swift-nio-extras"),
        .product(name: "NIOSOCKS", package: "swift-nio-extras"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ]),
    // The first example of README.md.
    .executableTarget(
      name: "QuickStart",
      dependencies: [
        "FutureTreeAsyncHTTPClient",
        .product(name: "FutureTreeHTTPTesting", package: "FutureTree"),
      ],
      path: "Examples/QuickStart"),
    .executableTarget(
      name: "Throughput",
      dependencies: [
        "FutureTreeAsyncHTTPClient",
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ],
      path: "Benchmarks/Throughput"),
    .executableTarget(
      name: "StreamMemory",
      dependencies: [
        "FutureTreeAsyncHTTPClient",
        .product(name: "FutureTreeHTTP", package: "FutureTree"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ],
      path: "Benchmarks/StreamMemory"),
    .executableTarget(
      name: "TransportCounts",
      dependencies: [
        "FutureTreeAsyncHTTPClient",
        .product(name: "FutureTreeTransportTesting", package: "FutureTree"),
      ],
      path: "Tests/TransportCounts"),
    .testTarget(
      name: "FutureTreeNIOTests",
      dependencies: [
        "FutureTreeNIO",
        .product(name: "FutureTreeTesting", package: "FutureTree"),
        .product(name: "NIOEmbedded", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ]),
    .testTarget(
      name: "FutureTreeAsyncHTTPClientTests",
      dependencies: [
        "FutureTreeAsyncHTTPClient",
        .product(name: "FutureTreeHTTPTesting", package: "FutureTree"),
        .product(name: "FutureTreeTesting", package: "FutureTree"),
        .product(name: "FutureTreeTransportTesting", package: "FutureTree"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOHTTP2", package: "swift-nio-http2"),
        .product(name: "NIOHTTPCompression", package: "swift-nio-extras"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
