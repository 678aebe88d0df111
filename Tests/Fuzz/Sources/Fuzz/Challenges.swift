import FutureTreeHTTP

/// A parsed list of challenges has the same meaning when it is written and parsed again.
func fuzzChallenges(_ bytes: [UInt8]) throws {
  guard let challenges = AuthenticationChallenge.challenges(in: String(decoding: bytes, as: UTF8.self)) else { return }
  for challenge in challenges {
    check(!challenge.scheme.isEmpty && challenge.scheme.utf8.allSatisfy(isTokenByte), "A scheme is no token.")
    check(challenge.token68 == nil || challenge.parameters.isEmpty, "A challenge has a token68 and parameters.")
    for name in challenge.parameters.keys {
      check(!name.isEmpty && name == name.lowercased() && name.utf8.allSatisfy(isTokenByte), "A name is no token.")
      check(challenge[name.uppercased()] == challenge.parameters[name], "A name has a case.")
    }
    check(AuthenticationChallenge.challenges(in: written(challenge)) == [challenge], "One is read as another.")
  }
  let list = challenges.map(written).joined(separator: ", ")
  check(AuthenticationChallenge.challenges(in: list) == challenges, "A list is read as another.")
  check(AuthenticationChallenge.challenges(in: " ,\t" + list + ",, ") == challenges, "Empty elements change a list.")
}

private func written(_ challenge: AuthenticationChallenge) -> String {
  if let token68 = challenge.token68 { return challenge.scheme + " " + token68 }
  let parameters = challenge.parameters.map { name, value in
    let quoted = value.unicodeScalars.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined()
    return "\(name)=\"\(quoted)\""
  }
  return challenge.scheme + (parameters.isEmpty ? "" : " " + parameters.joined(separator: " , "))
}

private func isTokenByte(_ byte: UInt8) -> Bool {
  switch UnicodeScalar(byte) {
  case "a"..."z", "A"..."Z", "0"..."9": true
  default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
  }
}
