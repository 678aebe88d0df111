// swift-tools-version: 6.2

// Conversions between the messages of FutureTree and those of swift-http-types, which the packages of the ecosystem exchange.
// FutureTree itself has no dependencies. See README.md.

import PackageDescription

let package = Package(
  name: "FutureTreeHTTPTypes",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2), .macCatalyst(.v18)],
  products: [
    .library(name: "FutureTreeHTTPTypes", targets: ["FutureTreeHTTPTypes"])
  ],
  dependencies: [
    .package(name: "FutureTree", path: "../.."),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
  ],
  targets: [
    .target(
      name: "FutureTreeHTTPTypes",
      dependencies: [
        .product(name: "FutureTreeHTTP", package: "FutureTree"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ]),
    .executableTarget(
      name: "QuickStart",
      dependencies: [
        "FutureTreeHTTPTypes",
        .product(name: "FutureTree", package: "FutureTree"),
        .product(name: "FutureTreeHTTP", package: "FutureTree"),
        .product(name: "FutureTreeHTTPTesting", package: "FutureTree"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      path: "Examples/QuickStart"),
    .testTarget(
      name: "FutureTreeHTTPTypesTests",
      dependencies: [
        "FutureTreeHTTPTypes",
        .product(name: "FutureTreeHTTP", package: "FutureTree"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
