// swift-tools-version: 6.2

import PackageDescription

let package = Package(
  name: "FutureTree",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2), .macCatalyst(.v18)],
  products: [
    .library(name: "FutureTree", targets: ["FutureTree"]),
    .library(name: "FutureTreeTesting", targets: ["FutureTreeTesting"]),
  ],
  dependencies: [],
  targets: [
    .target(name: "FutureTree"),
    .target(name: "FutureTreeTesting", dependencies: ["FutureTree"]),
    .testTarget(name: "FutureTreeTests", dependencies: ["FutureTree", "FutureTreeTesting"]),
  ],
  swiftLanguageModes: [.v6]
)
