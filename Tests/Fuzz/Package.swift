// swift-tools-version: 6.2

// Fuzz tests of the parsers and writers of messages, with libFuzzer, which is part of the toolchain. `run` has the compiler
// flags.
//
//   Tests/Fuzz/run

import PackageDescription

let package = Package(
  name: "Fuzz",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2), .macCatalyst(.v18)],
  dependencies: [.package(name: "FutureTree", path: "../..")],
  targets: [
    .target(name: "FuzzerDriver"),
    .executableTarget(
      name: "Fuzz",
      dependencies: [
        "FuzzerDriver", .product(name: "FutureTree", package: "FutureTree"),
        .product(name: "FutureTreePictures", package: "FutureTree"),
        .product(name: "FutureTreeHTTP", package: "FutureTree"),
        .product(name: "FutureTreeHTTPStore", package: "FutureTree"),
        .product(name: "FutureTreeHTTPTesting", package: "FutureTree"),
        .product(name: "FutureTreeRecording", package: "FutureTree"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
