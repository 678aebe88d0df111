// The code of the README, word for word, except its first example, which is a program. `HTTPGuideTests` compares the two.

#if READMEMANIFEST  // `.ci/run` compiles it, with the library for manifests, and runs the first example.
  // guide manifest
  let dependencies: [Package.Dependency] = [.package(name: "FutureTree", path: "../FutureTree")]
  let app = Target.target(name: "App", dependencies: [.product(name: "FutureTreeHTTP", package: "FutureTree")])
// end
#endif
