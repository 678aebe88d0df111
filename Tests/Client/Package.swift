// swift-tools-version: 6.2

// A program that uses FutureTree as a client does: in a release build, without `@testable`. `run` compares its output with that
// of a debug build.
//
//   Tests/Client/run

import PackageDescription

let package = Package(
  name: "Client",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2), .macCatalyst(.v18)],
  dependencies: [.package(name: "FutureTree", path: "../..")],
  targets: [
    .executableTarget(name: "Client", dependencies: [.product(name: "FutureTree", package: "FutureTree")])
  ],
  swiftLanguageModes: [.v6]
)
