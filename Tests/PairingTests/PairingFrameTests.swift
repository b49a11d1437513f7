import Sodium
import TestSupport
import Testing

@testable import Pairing

@Suite struct PairingFrameTests {
    private static let all: [PairingFrame] =
        [
            .hello(PairingFrame.Hello(nonce: counting(16), token: counting(8), name: "Größe 很")),
            .hello(PairingFrame.Hello(nonce: counting(16), name: "")), .share(counting(32)), .confirm(counting(64)),
            .ident(resolvingKey: counting(32)), .stored(isDone: true),
            .stored(isDone: false), .auth(nonce: counting(16), isAnew: true, mac: counting(32)),
            .authOK(mac: counting(32)),
        ] + PairingFailure.allCases.map { .abort($0) }

    private static func counting(_ count: Int) -> [UInt8] { (0..<count).map { UInt8($0) } }

    @Test func eachIsReadAsItWasWritten() {
        for frame in Self.all {
            #expect(PairingFrame(frame.bytes) == frame)
            #expect(frame.bytes.count <= PairingFrame.longest)
        }
        #expect(PairingFrame.share(Self.counting(32)).bytes == [2] + Self.counting(32))
        #expect(PairingFrame.abort(.late).bytes == [6, 3] && PairingFrame.stored(isDone: true).bytes == [5, 0])
        #expect(
            PairingFrame.auth(nonce: Self.counting(16), isAnew: false, mac: Self.counting(32)).bytes.prefix(2) == [
                0x10, 0,
            ]
        )
        let hello = PairingFrame.hello(PairingFrame.Hello(nonce: Self.counting(16), name: "ab")).bytes
        #expect(hello == [1, 1] + Self.counting(16) + [UInt8](repeating: 0, count: 8) + [2, 0x61, 0x62])
    }

    /// Each length but the right one, and each type but those.
    @Test func allElseIsRefused() {
        for frame in Self.all {
            let bytes = frame.bytes
            for count in 0..<bytes.count { #expect(PairingFrame(bytes.prefix(count)) == nil, "\(frame) \(count)") }
            #expect(PairingFrame(bytes + [0]) == nil, "\(frame)")
        }
        for kind in UInt8.min ... .max where !(1...6 ~= kind) && !(0x10...0x11 ~= kind) {
            #expect(PairingFrame([kind] + [UInt8](repeating: 0, count: 64)) == nil, "\(kind)")
        }
    }

    /// A later version is told from this one, whatever follows. A name is no longer than it says, and text.
    @Test func hellosAreChecked() throws {
        let good = PairingFrame.hello(PairingFrame.Hello(nonce: Self.counting(16), name: "ab")).bytes
        var later = good + [1, 2, 3]
        later[1] = 2
        guard case .hello(let hello)? = PairingFrame(later) else {
            Issue.record("a later version is not known")
            return
        }
        #expect(hello.version == 2)
        var none = good
        none[1] = 0
        #expect(PairingFrame(none) == nil)
        var long = good
        long[26] = 61
        #expect(PairingFrame(long + [UInt8](repeating: 0x61, count: 59)) == nil)
        var torn = good
        torn[27] = 0xC3
        #expect(PairingFrame(torn) == nil)
        let name = String(repeating: "很", count: 30)
        #expect(PairingFrame.Hello(nonce: Self.counting(16), name: name).name == String(repeating: "很", count: 20))
    }

    /// Whatever is read would be written in the same way.
    @Test func damageIsFoundOrHarmless() {
        var random = SplitMix(seed: 41)
        for _ in 0..<20_000 {
            var bytes = Self.all.randomElement(using: &random)!.bytes
            for _ in 0..<Int.random(in: 1...3, using: &random) where !bytes.isEmpty {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[place] = .random(in: .min ... .max, using: &random)
                case 1: bytes.remove(at: place)
                default: bytes.insert(.random(in: .min ... .max, using: &random), at: place)
                }
            }
            guard let frame = PairingFrame(bytes) else { continue }
            switch frame {
            // Any status but 0 is a failure, any unknown reason a refusal, and a later HELLO is not read.
            case .stored, .abort, .hello: #expect(PairingFrame(frame.bytes) == frame || bytes[1] > 1)
            default: #expect(frame.bytes == bytes)
            }
        }
    }

    @Test func codesAreReadAsPeopleWriteThem() {
        for text in ["482917", "482 917", " 48-29 17", "482-917"] {
            #expect(PairingCode(typed: text)?.text == "482917", "\(text)")
        }
        for text in ["", "48291", "4829170", "48291a", "４８２９１７", "+48291", "482\n917"] {
            #expect(PairingCode(typed: text) == nil, "\(text)")
        }
        #expect(PairingCode(typed: "004 007")?.shown == "004 007")
        let long = PairingCode.photographed()
        #expect(long.text.count == 26 && PairingCode(typed: long.text.uppercased()) == long && long.shown == long.text)
    }

    /// All codes are as likely as the others, also those that begin with zeroes.
    @Test func codesAreEven() {
        var counts = [Int](repeating: 0, count: 10)
        for _ in 0..<20_000 {
            let code = PairingCode.typed().text
            #expect(code.count == 6)
            counts[Int(code.prefix(1))!] += 1
        }
        // Six standard deviations.
        #expect(counts.allSatisfy { abs($0 - 2000) < 255 }, "\(counts)")
    }
}
