import Pairing
import Sodium
import TestSupport
import Testing

@testable import Link

@Suite struct LinkFrameTests {
    private static let call = CallID(bytes: (0..<16).map { UInt8($0) })!
    private static let all: [LinkFrame] =
        [
            .message(id: 1, json: #"{"text":"Größe"}"#), .ack(id: .max, .shown),
            .offer(id: 2, LinkFrame.FileOffer(size: 1 << 63, modified: 1_800_000_000, name: "../很")),
            .take(id: 3, offset: 0), .take(id: 3, offset: 1 << 40), .take(id: 3, offset: nil),
            .data(id: 4, offset: 65_536, [1, 2, 3]), .data(id: 4, offset: 0, []), .credit(id: 5, bytes: 1 << 20),
            .done(id: 6, hash: [UInt8](repeating: 9, count: 32)), .result(id: 7, status: 2), .cancel(id: 8),
            .open(id: 9, label: "log"),
            .bytes(id: 10, [UInt8](repeating: 7, count: 65_536)), .room(id: 11, bytes: 5), .close(id: 12, status: 0),
            .signal(call, json: "{}"), .unpair, .key([UInt8](repeating: 3, count: 32), port: 53390),
            .call(.invite(call, note: "", seconds: 120)), .call(.invite(call, note: "Zeit?", seconds: 1)),
            .call(.ringing(call)), .call(.accept(call)), .call(.state(nil)),
        ] + LinkFrame.Receipt.allCases.map { .ack(id: 1, $0) } + CallEnd.allCases.map { .call(.reject(call, $0)) }
        + CallEnd.allCases.map { .call(.cancel(call, $0)) }
        + CallEnd.allCases.map { .call(.end(call, $0, parameters: ["a": "b\n"])) }
        + CallPhase.allCases.map { .call(.state(CallStanding(call, $0))) }

    @Test func eachIsReadAsItWasWritten() {
        for frame in Self.all {
            #expect(LinkFrame(frame.bytes) == frame)
            #expect(frame.bytes.count <= LinkFrame.longest)
        }
        #expect(LinkFrame.credit(id: 0x0102_0304, bytes: 0x0506_0708).bytes == [0x33, 1, 2, 3, 4, 5, 6, 7, 8])
        #expect(LinkFrame.call(.reject(Self.call, .busy)).bytes == [0x53] + Self.call.bytes + [2])
        #expect(LinkFrame.call(.state(nil)).bytes == [0x57, 0] && LinkFrame.unpair.bytes == [0x60])
    }

    /// The longest of each kind.
    @Test func eachMayBeAsLongAsItSays() {
        let text = String(repeating: "a", count: LinkFrame.mostData - 2)
        for frame in [
            LinkFrame.signal(Self.call, json: "\"\(text)\""), .message(id: 1, json: "\"\(text)\""),
            .data(id: 1, offset: 0, [UInt8](repeating: 1, count: LinkFrame.mostData)),
            .call(.end(Self.call, .lost, parameters: ["a": String(repeating: "b", count: LinkFrame.mostData - 8)])),
            .call(.invite(Self.call, note: String(repeating: "n", count: LinkFrame.longestText), seconds: 1)),
        ] {
            #expect(LinkFrame(frame.bytes) == frame)
        }
        // A call ends whatever is said of it.
        let end = LinkFrame(Array(LinkFrame.call(.end(Self.call, .busy, parameters: [:])).bytes.dropLast(2)) + [0x5B])
        #expect(end == .call(.end(Self.call, .busy, parameters: [:])))
    }

    @Test func allElseIsRefused() {
        for kind in UInt8.min ... .max {
            let known = [0x20...0x21, 0x30...0x36, 0x40...0x43, 0x50...0x57, 0x60...0x61] as [ClosedRange<UInt8>]
            if known.contains(where: { $0 ~= kind }) { continue }
            #expect(LinkFrame([kind] + [UInt8](repeating: 0, count: 64)) == nil, "\(kind)")
        }
        #expect(LinkFrame([]) == nil)
        let long = [UInt8](repeating: 0x61, count: 65_537)
        for frame in [
            LinkFrame.data(id: 1, offset: 0, long), .bytes(id: 1, long),
            .message(id: 1, json: String(repeating: "a", count: 65_537)),
            .open(id: 1, label: String(repeating: "a", count: 4097)),
            .call(.invite(Self.call, note: String(repeating: "a", count: 4097), seconds: 1)),
        ] {
            #expect(LinkFrame(frame.bytes) == nil)
        }
        #expect(LinkFrame([0x20, 0, 0, 0, 1, 0xFF]) == nil, "no UTF-8")
        #expect(LinkFrame([0x57, 1]) == nil && LinkFrame([0x57, 0, 1]) == nil)
        #expect(LinkFrame([0x57, 9] + Self.call.bytes) == nil)
    }

    /// Whatever is read would be written in the same way, but for JSON and unknown reasons.
    @Test func damageIsFoundOrHarmless() {
        var random = SplitMix(seed: 43)
        for _ in 0..<20_000 {
            var bytes = Self.all.randomElement(using: &random)!.bytes
            if bytes.count > 1000 { continue }
            for _ in 0..<Int.random(in: 1...3, using: &random) where !bytes.isEmpty {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[place] = .random(in: .min ... .max, using: &random)
                case 1: bytes.remove(at: place)
                default: bytes.insert(.random(in: .min ... .max, using: &random), at: place)
                }
            }
            guard let frame = LinkFrame(bytes) else { continue }
            #expect(LinkFrame(frame.bytes) == frame)
            switch frame {
            case .call(.end), .call(.reject), .call(.cancel): break
            default: #expect(frame.bytes == bytes)
            }
        }
    }
}
