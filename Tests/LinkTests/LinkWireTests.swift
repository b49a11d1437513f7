import TestSupport
import Testing

@testable import Link

@Suite struct LinkWireTests {
    /// Whatever the pieces are in which the bytes come.
    @Test func messagesComeWhole() throws {
        for seed in UInt64(0)..<200 {
            var random = SplitMix(seed: seed)
            let messages = (0..<Int.random(in: 1...40, using: &random)).map { _ in
                (0..<Int.random(in: 0...5000, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
            }
            var rest = messages.flatMap { LinkWire.framed($0) }[...]
            var wire = LinkWire()
            var taken: [[UInt8]] = []
            while !rest.isEmpty {
                let piece = rest.prefix(Int.random(in: 1...9000, using: &random))
                rest = rest.dropFirst(piece.count)
                wire.receive(piece)
                while let message = try wire.next(longest: 5000) { taken.append(message) }
            }
            #expect(taken == messages)
        }
    }

    @Test func longOnesAreRefusedBeforeTheyCome() throws {
        var wire = LinkWire()
        wire.receive([0, 0, 0, 3, 1, 2, 3, 0, 0, 0, 4])
        #expect(try wire.next(longest: 3) == [1, 2, 3])
        #expect(throws: LinkWire.TooLong.self) { try wire.next(longest: 3) }
        wire.receive([0xFF])
        #expect(throws: LinkWire.TooLong.self) { try wire.next(longest: 3) }
    }
}
