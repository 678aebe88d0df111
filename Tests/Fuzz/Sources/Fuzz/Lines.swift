import Foundation

@testable import FutureTreeHTTP

/// The lines of a body are the same for each division into chunks, and those that a search of the whole body finds.
func fuzzLines(_ bytes: [UInt8]) throws {
  var input = Input(bytes)
  let (limit, sizes, body) = (Int(input.byte()), input.bytes(), input.remaining())
  let whole = Findings([Data(body)], limit: limit)
  check(Findings(chunks(of: body, sizes: sizes), limit: limit) == whole, "Chunks of \(sizes) bytes have other lines.")
  check(whole == Findings(searching: body, limit: limit), "A search of the whole body finds other lines.")
}

/// Divides bytes into chunks of these sizes, in turn. Without sizes, each chunk is one byte.
func chunks(of bytes: [UInt8], sizes: [UInt8]) -> [Data] {
  let sizes = sizes.contains { $0 > 0 } ? sizes : [1]
  var (chunks, rest) = ([Data](), bytes[...])
  while !rest.isEmpty {
    let size = Int(sizes[chunks.count % sizes.count])
    chunks.append(Data(rest.prefix(size)))
    rest = rest.dropFirst(size)
  }
  return chunks
}

private struct Findings: Equatable {
  var lines: [String] = []
  var error: HTTPError.Code?

  init(_ chunks: [Data], limit: Int) {
    var splitter = LineSplitter(limit: limit)
    do throws(HTTPError) {
      for chunk in chunks {
        splitter.receive(chunk)
        while let line = try splitter.next() { lines.append(line) }
      }
      splitter.finish()
      while let line = try splitter.next() { lines.append(line) }
    } catch {
      self.error = error.code
    }
  }

  init(searching body: [UInt8], limit: Int) {
    let body = body.starts(with: [0xEF, 0xBB, 0xBF]) ? body.dropFirst(3) : body[...]
    var parts = body.split(separator: 0x0A, omittingEmptySubsequences: false)
    let last = parts.removeLast()
    parts = parts.map { $0.last == 0x0D ? $0.dropLast() : $0 }
    if !last.isEmpty { parts.append(last) }
    for part in parts where error == nil {
      if part.count > limit {
        error = .lineTooLong
      } else if let line = String(validating: part, as: UTF8.self) {
        lines.append(line)
      } else {
        error = .undecodableBody
      }
    }
  }
}
