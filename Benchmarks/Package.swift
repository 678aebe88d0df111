// swift-tools-version: 6.2

// What needs other packages: FutureTree itself has no dependencies.
//
//   swift test --package-path Benchmarks

import PackageDescription

let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2), .macCatalyst(.v18)],
  dependencies: [
    .package(name: "FutureTree", path: ".."),
    .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
  ],
  targets: [
    // The bridge to Combine, compiled against OpenCombine: its one file is a link to FutureTree's own.
    .target(
      name: "OpenCombineBridge", dependencies: ["FutureTree", "OpenCombine"],
      swiftSettings: [.define("FUTURETREE_OPENCOMBINE")]),
    .testTarget(name: "OpenCombineBridgeTests", dependencies: ["OpenCombineBridge"]),
  ],
  swiftLanguageModes: [.v6]
)
