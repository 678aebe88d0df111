// swift-tools-version: 6.2

// The works of FutureTree, and the program that counts their heap blocks and instructions. This package has no dependency on
// other packages, so that the guard runs without a network.
//
//   Benchmarks/guard

import PackageDescription

let package = Package(
  name: "Works",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2), .macCatalyst(.v18)],
  products: [
    .library(name: "Works", targets: ["Works"]),
    .library(name: "Baselines", targets: ["Baselines"]),
    .library(name: "HeapCounter", targets: ["HeapCounter"]),
  ],
  dependencies: [.package(name: "FutureTree", path: "../..")],
  targets: [
    .target(name: "BlackHole"),
    .target(name: "HeapCounter"),
    .target(
      name: "Works",
      dependencies: [
        "FutureTree", "Baselines", "BlackHole", .product(name: "FutureTreeHTTP", package: "FutureTree"),
        .product(name: "FutureTreeHTTPStore", package: "FutureTree"),
        .product(name: "FutureTreeHTTPTesting", package: "FutureTree"),
      ]),
    .target(name: "Baselines"),
    .executableTarget(name: "CountWorks", dependencies: ["Works", "Baselines", "HeapCounter"]),
    // Candidates for the lock of the library. The file of the library's own lock is a link.
    .target(name: "Futex"),
    .executableTarget(name: "LockBenchmark", dependencies: ["Futex", "FutureTree"]),
  ],
  swiftLanguageModes: [.v6]
)
