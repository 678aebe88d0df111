// swift-tools-version: 6.2

import PackageDescription

let package = Package(
  name: "Tools",
  platforms: [.macOS(.v15)],
  targets: [
    .target(name: "Checks"),
    .executableTarget(name: "check", dependencies: ["Checks"]),
    .testTarget(name: "ChecksTests", dependencies: ["Checks"]),
  ])
