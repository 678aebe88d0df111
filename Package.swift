// swift-tools-version: 6.2

import PackageDescription

// In a release build, tests call optimized code and are not optimized themselves, because that would take minutes. Searches are.
let unoptimized: [SwiftSetting] = [.unsafeFlags(["-Onone"], .when(configuration: .release))]

let package = Package(
  name: "FutureTree",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2), .macCatalyst(.v18)],
  products: [
    .library(name: "FutureTree", targets: ["FutureTree"]),
    .library(name: "FutureTreePictures", targets: ["FutureTreePictures"]),
    .library(name: "FutureTreeHTTP", targets: ["FutureTreeHTTP"]),
    .library(name: "FutureTreeHTTPStore", targets: ["FutureTreeHTTPStore"]),
    .library(name: "FutureTreeOAuth2", targets: ["FutureTreeOAuth2"]),
    .library(name: "FutureTreeRecording", targets: ["FutureTreeRecording"]),
    .library(name: "FutureTreeTesting", targets: ["FutureTreeTesting"]),
    .library(name: "FutureTreeHTTPTesting", targets: ["FutureTreeHTTPTesting"]),
    .library(name: "FutureTreeTransportTesting", targets: ["FutureTreeTransportTesting"]),
  ],
  dependencies: [],
  targets: [
    .target(name: "FutureTree"),
    .target(name: "FutureTreePictures", dependencies: ["FutureTree"]),
    // The functions of libraries that Linux systems have. They are found at run time, and compiled on Linux only.
    .target(name: "CCurl"),
    .target(name: "CCodings"),
    .target(
      name: "FutureTreeHTTP",
      dependencies: [
        "FutureTree", .target(name: "CCurl", condition: .when(platforms: [.linux])),
        .target(name: "CCodings", condition: .when(platforms: [.linux])),
      ]),
    .target(name: "FutureTreeHTTPStore", dependencies: ["FutureTree", "FutureTreeHTTP"]),
    .target(name: "FutureTreeOAuth2", dependencies: ["FutureTree", "FutureTreeHTTP"]),
    .target(name: "FutureTreeRecording", dependencies: ["FutureTree", "FutureTreeHTTP", "FutureTreeTesting"]),
    .target(name: "FutureTreeTesting", dependencies: ["FutureTree"]),
    .target(name: "FutureTreeHTTPTesting", dependencies: ["FutureTree", "FutureTreeHTTP", "FutureTreeTesting"]),
    .target(
      name: "FutureTreeTransportTesting",
      dependencies: [
        "FutureTree", "FutureTreeHTTP", "FutureTreeHTTPStore", "FutureTreeTesting", "FutureTreeHTTPTesting",
      ]),
    .target(name: "ExampleSupport", dependencies: ["FutureTree"], path: "Examples/Support"),
    .executableTarget(
      name: "QuickStart", dependencies: ["FutureTree", "FutureTreeHTTP", "FutureTreeHTTPTesting"],
      path: "Examples/QuickStart"),
    .executableTarget(
      name: "SharedDownloads",
      dependencies: ["ExampleSupport", "FutureTree", "FutureTreeHTTP", "FutureTreeHTTPTesting"],
      path: "Examples/SharedDownloads", exclude: ["expected.txt"]),
    .executableTarget(
      name: "LiveFeed", dependencies: ["ExampleSupport", "FutureTree", "FutureTreeHTTP", "FutureTreeHTTPTesting"],
      path: "Examples/LiveFeed", exclude: ["expected.txt"]),
    .executableTarget(
      name: "NotHTTP", dependencies: ["ExampleSupport", "FutureTree"], path: "Examples/NotHTTP",
      exclude: ["expected.txt"]),
    .executableTarget(
      name: "Build", dependencies: ["ExampleSupport", "FutureTree", "FutureTreePictures", "FutureTreeTesting"],
      path: "Examples/Build", exclude: ["expected.txt"]),
    .executableTarget(
      name: "APIClient",
      dependencies: [
        "ExampleSupport", "FutureTree", "FutureTreeHTTP", "FutureTreeOAuth2", "FutureTreeTesting",
        "FutureTreeHTTPTesting",
      ],
      path: "Examples/APIClient", exclude: ["expected.txt"]),
    .executableTarget(
      name: "TreeInspector",
      dependencies: ["FutureTree", "FutureTreePictures", "FutureTreeHTTP", "FutureTreeRecording", "FutureTreeTesting"],
      path: "Examples/TreeInspector"),
    .target(name: "TestSupport", dependencies: ["FutureTree"], path: "Tests/TestSupport"),
    .target(
      name: "HTTPTestSupport", dependencies: ["FutureTree", "FutureTreeHTTP", "FutureTreeHTTPTesting", "TestSupport"],
      path: "Tests/HTTPTestSupport"),
    .executableTarget(
      name: "TransportCounts", dependencies: ["FutureTreeHTTP", "FutureTreeTransportTesting"],
      path: "Tests/TransportCounts"),
    .testTarget(
      name: "FutureTreeTests", dependencies: ["FutureTree", "FutureTreeTesting", "TestSupport"],
      swiftSettings: unoptimized),
    // Searches: random programs against a second implementation of the contract, and schedules of threads.
    .testTarget(name: "FutureTreeModelTests", dependencies: ["FutureTree", "FutureTreeTesting", "TestSupport"]),
    .testTarget(
      name: "FutureTreePicturesTests",
      dependencies: ["FutureTree", "FutureTreePictures", "FutureTreeTesting", "TestSupport"],
      swiftSettings: unoptimized),
    .testTarget(
      name: "FutureTreeTestingTests", dependencies: ["FutureTree", "FutureTreeTesting", "TestSupport"],
      swiftSettings: unoptimized),
  ]
    + ["HTTP", "HTTPStore", "OAuth2", "Recording", "HTTPTesting", "TransportTesting"].map { module in
      .testTarget(
        name: "FutureTree\(module)Tests",
        dependencies: [
          "FutureTree", "FutureTreePictures", "FutureTreeHTTP", "FutureTreeHTTPStore", "FutureTreeOAuth2",
          "FutureTreeRecording", "FutureTreeTesting", "FutureTreeHTTPTesting", "FutureTreeTransportTesting",
          "TestSupport", "HTTPTestSupport",
        ], swiftSettings: unoptimized)
    },
  swiftLanguageModes: [.v6]
)

// Builds the tests of some modules, and only what they need: `FUTURETREE_TESTS_OF="FutureTree FutureTreeHTTP" swift test`.
if let modules = Context.environment["FUTURETREE_TESTS_OF"] {
  func needed(by name: String) -> Set<String> {
    let dependencies = package.targets.first { $0.name == name }?.dependencies ?? []
    return dependencies.reduce(into: [name]) { names, dependency in
      switch dependency {
      case .byNameItem(let name, _), .targetItem(let name, _): names.formUnion(needed(by: name))
      default: break
      }
    }
  }
  let names = modules.split(separator: " ").reduce(into: Set()) { $0.formUnion(needed(by: $1 + "Tests")) }
  package.targets.removeAll { !names.contains($0.name) }
  package.products.removeAll { ($0 as? Product.Library)?.targets.allSatisfy(names.contains) != true }
}
