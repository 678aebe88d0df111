// swift-tools-version: 6.2

// The benchmarks that need other packages. FutureTree itself has no dependencies. See README.md.
//
//   swift run -c release --package-path Benchmarks Benchmarks
//   swift test --package-path Benchmarks

import PackageDescription

let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2), .macCatalyst(.v18)],
  dependencies: [
    .package(name: "FutureTree", path: ".."),
    .package(name: "Works", path: "Works"),
    .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
  ],
  targets: [
    .executableTarget(
      name: "Benchmarks",
      dependencies: [
        "FutureTree", "Measuring", "OpenCombine",
        .product(name: "FutureTreeHTTP", package: "FutureTree"),
        .product(name: "FutureTreeHTTPTesting", package: "FutureTree"),
        .product(name: "Works", package: "Works"),
        .product(name: "HeapCounter", package: "Works"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOEmbedded", package: "swift-nio"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
    // The pure parts: statistics, tables, thresholds.
    .target(name: "Measuring"),
    .testTarget(
      name: "MeasuringTests", dependencies: ["Measuring", .product(name: "Baselines", package: "Works")]),
    // The bridge to Combine, compiled against OpenCombine. Its one file is a link to a file of FutureTree.
    .target(
      name: "OpenCombineBridge", dependencies: ["FutureTree", "OpenCombine"],
      swiftSettings: [.define("FUTURETREE_OPENCOMBINE")]),
    .testTarget(name: "OpenCombineBridgeTests", dependencies: ["OpenCombineBridge"]),
  ],
  swiftLanguageModes: [.v6]
)
