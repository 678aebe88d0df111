// swift-tools-version: 6.2

// Handlers for Hummingbird that return futures, graceful shutdown, and bridges to swift-log, swift-metrics and
// swift-distributed-tracing.
// FutureTree itself has no dependencies. See README.md.

import PackageDescription

let package = Package(
  name: "FutureTreeServer",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .visionOS(.v2), .macCatalyst(.v18)],
  products: [
    .library(name: "FutureTreeHummingbird", targets: ["FutureTreeHummingbird"]),
    .library(name: "FutureTreeInspector", targets: ["FutureTreeInspector"]),
    .library(name: "FutureTreeLifecycle", targets: ["FutureTreeLifecycle"]),
    .library(name: "FutureTreeLogging", targets: ["FutureTreeLogging"]),
    .library(name: "FutureTreeMetrics", targets: ["FutureTreeMetrics"]),
    .library(name: "FutureTreeTracing", targets: ["FutureTreeTracing"]),
  ],
  dependencies: [
    .package(name: "FutureTree", path: "../.."),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.0"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: [
    .target(
      name: "FutureTreeHummingbird",
      dependencies: [
        "FutureTreeLifecycle",
        .product(name: "FutureTree", package: "FutureTree"),
        .product(name: "FutureTreeHTTP", package: "FutureTree"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ]),
    .target(
      name: "FutureTreeInspector",
      dependencies: [
        .product(name: "FutureTree", package: "FutureTree"),
        .product(name: "FutureTreePictures", package: "FutureTree"),
        .product(name: "FutureTreeHTTP", package: "FutureTree"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
        .product(name: "NIOCore", package: "swift-nio"),
      ]),
    .executableTarget(
      name: "InspectorExample",
      dependencies: [
        "FutureTreeInspector",
        .product(name: "FutureTree", package: "FutureTree"),
        .product(name: "FutureTreeHTTP", package: "FutureTree"),
        .product(name: "FutureTreeHTTPTesting", package: "FutureTree"),
      ],
      path: "Examples/Inspector"),
    .target(
      name: "FutureTreeLifecycle",
      dependencies: [
        .product(name: "FutureTree", package: "FutureTree"),
        .product(name: "FutureTreeHTTP", package: "FutureTree"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ]),
    .target(
      name: "FutureTreeLogging",
      dependencies: [
        .product(name: "FutureTreeHTTP", package: "FutureTree"),
        .product(name: "Logging", package: "swift-log"),
      ]),
    .target(
      name: "FutureTreeMetrics",
      dependencies: [
        .product(name: "FutureTreeHTTP", package: "FutureTree"),
        .product(name: "Metrics", package: "swift-metrics"),
      ]),
    .target(
      name: "FutureTreeTracing",
      dependencies: [
        .product(name: "FutureTreeHTTP", package: "FutureTree"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
      ]),
    .target(
      name: "ServerTestSupport",
      dependencies: [
        .product(name: "FutureTree", package: "FutureTree"),
        .product(name: "FutureTreeTesting", package: "FutureTree"),
        .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ],
      path: "Tests/ServerTestSupport"),
    .testTarget(
      name: "FutureTreeHummingbirdTests",
      dependencies: [
        "FutureTreeHummingbird", "ServerTestSupport",
        .product(name: "FutureTreeHTTPTesting", package: "FutureTree"),
        .product(name: "FutureTreeTesting", package: "FutureTree"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
        .product(name: "NIOEmbedded", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
      ]),
    .testTarget(
      name: "FutureTreeInspectorTests",
      dependencies: [
        "FutureTreeInspector", "ServerTestSupport",
        .product(name: "FutureTreeHTTPTesting", package: "FutureTree"),
        .product(name: "FutureTreeTesting", package: "FutureTree"),
      ]),
    .testTarget(
      name: "FutureTreeLifecycleTests",
      dependencies: [
        "FutureTreeLifecycle", "ServerTestSupport",
        .product(name: "FutureTreeHTTPTesting", package: "FutureTree"),
        .product(name: "FutureTreeTesting", package: "FutureTree"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
      ]),
    .testTarget(
      name: "FutureTreeLoggingTests",
      dependencies: [
        "FutureTreeLogging",
        .product(name: "FutureTreeHTTPTesting", package: "FutureTree"),
        .product(name: "FutureTreeTesting", package: "FutureTree"),
        .product(name: "InMemoryLogging", package: "swift-log"),
      ]),
    .testTarget(
      name: "FutureTreeMetricsTests",
      dependencies: [
        "FutureTreeMetrics",
        .product(name: "FutureTreeHTTPTesting", package: "FutureTree"),
        .product(name: "FutureTreeTesting", package: "FutureTree"),
        .product(name: "MetricsTestKit", package: "swift-metrics"),
      ]),
    .testTarget(
      name: "FutureTreeTracingTests",
      dependencies: [
        "FutureTreeTracing",
        .product(name: "FutureTreeHTTPTesting", package: "FutureTree"),
        .product(name: "FutureTreeTesting", package: "FutureTree"),
        .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
