import Foundation
import FutureTree

@testable import FutureTreeHTTP
@testable import FutureTreeHTTPStore

/// A file of the cache is a response that can be used and is written again as the same bytes, or it is damaged.
func fuzzFiles(_ bytes: [UInt8]) throws {
  let (request, name) = (try HTTPRequest("http://a/"), "name")
  let key = CacheKey(request, try request.requireURL())
  let data = Data(bytes)
  check(CacheFile.decode(data, name: name, key, request) == nil, "A file without a digest is used.")

  let file = data.sealed(as: CacheFile.format, name: name)
  guard let entry = CacheFile.decode(file, name: name, key, request) else { return }
  check(CacheFile.decode(file, name: "other", key, request) == nil, "A file with another name is used.")
  let written = try CacheFile.encode(entry, name: name)
  guard let again = CacheFile.decode(written, name: name, key, request) else { fail("A written file is damaged.") }
  check(again.status == entry.status && again.body == entry.body && again.headers == entry.headers, "It differs.")
  check(try CacheFile.encode(again, name: name) == written, "It is written as another file.")
  for now in [0.0, entry.times.answered, 4e9] {
    check(entry.age(at: now) >= 0 && !entry.freshness(at: now).isNaN, "The age at \(now) is \(entry.age(at: now)).")
    let answer = entry.answer(request, .hit(entry.freshness(at: now)), at: now)
    check(answer.headers.values(for: "Age").count == 1, "The response has no age.")
  }
}
