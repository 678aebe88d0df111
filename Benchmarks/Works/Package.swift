// swift-tools-version: 6.2

// Our side of the comparison, and what counts its heap blocks and instructions: it needs no other package, so that the
// guard runs where none can be fetched.
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
        .product(name: "FutureTreeHTTPTesting", package: "FutureTree"),
      ]),
    .target(name: "Baselines"),
    .executableTarget(name: "CountWorks", dependencies: ["Works", "Baselines", "HeapCounter"]),
    // The locks that could be under the library's, against each other. The library's own is a link to its file.
    .target(name: "Futex"),
    .executableTarget(name: "LockBenchmark", dependencies: ["Futex", "FutureTree"]),
  ],
  swiftLanguageModes: [.v6]
)
