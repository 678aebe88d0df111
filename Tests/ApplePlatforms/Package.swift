// swift-tools-version: 6.2

// Type-checks the code for Apple platforms on Linux. See README.md for the method and its limits.
//
//   swift build --package-path Tests/ApplePlatforms

import PackageDescription

let package = Package(
  name: "ApplePlatforms",
  dependencies: [
    .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0")
  ],
  targets: [
    // Stand-ins for modules of the SDK. They depend on OpenCombine so that it is compiled before they can be imported.
    .target(name: "Darwin", dependencies: ["OpenCombine"]),
    .target(name: "Security", dependencies: ["OpenCombine"]),
    .target(name: "Combine", dependencies: ["OpenCombine"]),
    .target(name: "CryptoKit", dependencies: ["OpenCombine"]),
    // Links to the sources of the package.
    .target(name: "FutureTree", dependencies: ["Combine", "Darwin"]),
    .target(name: "CCodings"),
    .target(name: "FutureTreeHTTP", dependencies: ["CCodings", "FutureTree", "Security"], exclude: ["Sources/Curl"]),
    .target(name: "FutureTreeOAuth2", dependencies: ["CryptoKit", "FutureTree", "FutureTreeHTTP"]),
    .target(name: "FutureTreePictures", dependencies: ["FutureTree"]),
    .target(name: "FutureTreeHTTPStore", dependencies: ["FutureTree", "FutureTreeHTTP"]),
    .target(name: "FutureTreeRecording", dependencies: ["FutureTree", "FutureTreeHTTP", "FutureTreeTesting"]),
    .target(name: "FutureTreeTesting", dependencies: ["FutureTree"]),
    .target(name: "FutureTreeHTTPTesting", dependencies: ["FutureTree", "FutureTreeHTTP", "FutureTreeTesting"]),
    .target(
      name: "FutureTreeTransportTesting",
      dependencies: [
        "FutureTree", "FutureTreeHTTP", "FutureTreeHTTPStore", "FutureTreeTesting", "FutureTreeHTTPTesting",
      ]),
  ],
  swiftLanguageModes: [.v6]
)
