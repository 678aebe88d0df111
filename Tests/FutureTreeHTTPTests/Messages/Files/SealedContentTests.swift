import Foundation
import TestSupport
import Testing

@testable import FutureTreeHTTP

@Suite("Sealed content of files") struct SealedContentTests {
  private let content = Data("a line\nand another".utf8)

  @Test("Sealed content is read again, also without bytes and as a part of other data")
  func restored() {
    let sealed = content.sealed(as: "format", name: "name")
    let part = (Data("before".utf8) + sealed).dropFirst(6)

    expectEqual(sealed.unsealed(as: "format", name: "name"), content)
    expectEqual(part.unsealed(as: "format", name: "name"), content)
    expectEqual(Data().sealed(as: "format").unsealed(as: "format"), Data())
  }

  @Test("Content that was cut or changed at any byte is not read")
  func damaged() {
    let sealed = content.sealed(as: "format")

    for index in sealed.indices {
      var changed = sealed
      changed[index] ^= 1
      #expect(changed.unsealed(as: "format") == nil, "byte \(index) was changed")
      #expect(sealed.prefix(index).unsealed(as: "format") == nil, "cut after \(index) bytes")
    }
    #expect((sealed + Data("x".utf8)).unsealed(as: "format") == nil)
  }

  @Test("Content with another format or another name is not read")
  func others() {
    let sealed = content.sealed(as: "format", name: "name")

    #expect(sealed.unsealed(as: "other", name: "name") == nil)
    #expect(sealed.unsealed(as: "format", name: "other") == nil)
    #expect(sealed.unsealed(as: "format") == nil)
  }
}
