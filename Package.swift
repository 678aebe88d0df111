// swift-tools-version: 6.2

import PackageDescription

let package = Package(
  name: "FutureTree",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2), .macCatalyst(.v18)],
  products: [
    .library(name: "FutureTree", targets: ["FutureTree"]),
    .library(name: "FutureTreeHTTP", targets: ["FutureTreeHTTP"]),
    .library(name: "FutureTreeTesting", targets: ["FutureTreeTesting"]),
  ],
  dependencies: [],
  targets: [
    .target(name: "FutureTree"),
    .target(name: "FutureTreeHTTP", dependencies: ["FutureTree"]),
    .target(name: "FutureTreeTesting", dependencies: ["FutureTree", "FutureTreeHTTP"]),
    .target(name: "ExampleSupport", dependencies: ["FutureTree"], path: "Examples/Support"),
    .executableTarget(
      name: "QuickStart", dependencies: ["FutureTree", "FutureTreeHTTP", "FutureTreeTesting"],
      path: "Examples/QuickStart"),
    .executableTarget(
      name: "SharedDownloads", dependencies: ["ExampleSupport", "FutureTree", "FutureTreeHTTP", "FutureTreeTesting"],
      path: "Examples/SharedDownloads", exclude: ["expected.txt"]),
    .executableTarget(
      name: "NotHTTP", dependencies: ["ExampleSupport", "FutureTree"], path: "Examples/NotHTTP",
      exclude: ["expected.txt"]),
    .executableTarget(
      name: "APIClient", dependencies: ["FutureTree", "FutureTreeHTTP", "FutureTreeTesting"],
      path: "Examples/APIClient", exclude: ["expected.txt"]),
    .executableTarget(
      name: "TreeInspector", dependencies: ["FutureTree", "FutureTreeTesting"], path: "Examples/TreeInspector"),
    .target(name: "TestSupport", dependencies: ["FutureTree"], path: "Tests/TestSupport"),
    .testTarget(name: "FutureTreeTests", dependencies: ["FutureTree", "FutureTreeTesting", "TestSupport"]),
    .testTarget(name: "FutureTreeHTTPTests", dependencies: ["FutureTreeHTTP", "FutureTreeTesting", "TestSupport"]),
    .testTarget(
      name: "FutureTreeTestingTests",
      dependencies: ["FutureTree", "FutureTreeHTTP", "FutureTreeTesting", "TestSupport"]),
    .testTarget(name: "TreeInspectorTests", dependencies: ["FutureTree", "TreeInspector"]),
  ],
  swiftLanguageModes: [.v6]
)
