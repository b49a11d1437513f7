import Pairing
import Sodium
import TestSupport
import Testing

@testable import Discovery

func announcement(_ number: UInt8 = 1, _ state: Announcement.State = .idle, of key: [UInt8]? = nil) -> Announcement {
    Announcement(
        instance: [UInt8](repeating: number, count: 8),
        state: state,
        resolvable: key.map { ResolvableID(key: $0, instance: [UInt8](repeating: number, count: 8)) },
        codecs: ["vp8"]
    )
}

@Suite struct AnnouncementTests {
    private static let all = [
        announcement(), Announcement(instance: [UInt8](repeating: 0xFF, count: 8), state: .paused),
        Announcement(
            instance: Randomness.bytes(8),
            state: .live,
            token: Randomness.bytes(8),
            resolvable: ResolvableID(key: Randomness.bytes(32), instance: []),
            codecs: ["vp8", "vp9", "av1"]
        ),
    ]

    private func read(_ strings: [String]) -> Announcement? { Announcement(strings: strings.map { Array($0.utf8) }) }

    @Test func eachIsReadAsItWasWritten() {
        for announcement in Self.all {
            #expect(read(announcement.strings) == announcement)
            // RFC 6763 §6.2: 200 bytes are few enough.
            #expect(announcement.strings.reduce(0) { $0 + 1 + $1.utf8.count } <= 200)
            #expect(announcement.strings.allSatisfy { $0.prefix { $0 != "=" }.count <= 9 })
        }
    }

    /// RFC 6763 §6.4: upper case is as good, the first of two counts, and what is unknown is left out.
    @Test func othersMayWriteItDifferently() {
        let id = "id=" + String(repeating: "a5", count: 8)
        #expect(read(["=x", "", "flag", "V=1", id, "S=live", "s=paused", "later=1"])?.state == .live)
        #expect(read(["v=1", id])?.state == .idle && read(["v=1", id, "s=what"])?.state == .idle)
        #expect(read(["v=1", id, "s="]) != nil && read(["v=1", id.uppercased(), "id=00"]) != nil)
        for bad in [
            [id], ["v=2", id], ["v=", id], ["v=1"], ["v=1", "id=a5"],
            ["v=1", "id=\(String(repeating: "zz", count: 8))"],
            ["v=1", id + "00"],
        ] {
            #expect(read(bad) == nil, "\(bad)")
        }
        // A code without its token, or a token without a code, is none.
        let token = "at=" + String(repeating: "01", count: 8)
        #expect(read(["v=1", id, "p=1"])?.token == nil && read(["v=1", id, token])?.token == nil)
        #expect(read(["v=1", id, "p=0", token])?.token == nil && read(["v=1", id, "p=1", token])?.token != nil)
        #expect(read(["v=1", id, "r=00"])?.resolvable == nil)
        #expect(read(["v=1", id, "c=vp8,\u{1B}[2J,VP9,,av1"])?.codecs == ["vp8", "av1"])
        #expect(read(["v=1", id, "c=" + String(repeating: "a,", count: 100)])?.codecs.count == 8)
    }

    @Test func beaconsAreReadAsTheyWereWritten() {
        for announcement in Self.all {
            for name in ["", "Ann's desk", "很好"] {
                for isLast in [false, true] {
                    let beacon = Beacon.of(announcement, name: name, port: 0xABCD, isLast: isLast)
                    #expect(Beacon(beacon.bytes) == beacon && beacon.bytes.count <= Beacon.longest)
                }
            }
        }
        #expect(Beacon(Beacon.query.bytes) == .query)
        #expect(Beacon.query.bytes == Array("ORIEL".utf8) + [1, 2, 0, 0, 0])
        let long = Beacon.of(Self.all[0], name: String(repeating: "é", count: 100), port: 1)
        #expect(long.name == String(repeating: "é", count: 30) && Beacon(long.bytes) == long)
        #expect(Array(Beacon.of(Self.all[0], name: "ab", port: 258).bytes[5..<12]) == [1, 1, 1, 2, 2, 0x61, 0x62])
    }

    /// What is no beacon, or one of another version, is none; and whatever is one can be written again.
    @Test func damageIsFoundOrHarmless() {
        let good = Beacon.of(Self.all[2], name: "desk", port: 5).bytes
        for count in 0..<good.count {
            // A string that was cut off at its end is a shorter announcement.
            if let beacon = Beacon(good.prefix(count)) { #expect(Beacon(beacon.bytes) == beacon) }
        }
        for (place, byte) in [(0, 0x6F), (5, 0), (5, 2), (6, 0), (6, 4), (9, 61), (9, 255)] as [(Int, UInt8)] {
            var bytes = good
            bytes[place] = byte
            #expect(Beacon(bytes) == nil, "\(place) \(byte)")
        }
        #expect(Beacon(good + [UInt8](repeating: 0, count: Beacon.longest)) == nil)
        #expect(Beacon(Beacon.of(Self.all[0], name: "", port: 0).bytes) == nil)
        var random = SplitMix(seed: 6)
        for _ in 0..<20_000 {
            var bytes = good
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[place] = .random(in: .min ... .max, using: &random)
                case 1: bytes.remove(at: place)
                default: bytes.insert(.random(in: .min ... .max, using: &random), at: place)
                }
            }
            if let beacon = Beacon(bytes) { #expect(Beacon(beacon.bytes) == beacon) }
        }
    }

    @Test func placesAreSorted() {
        let places = [
            Endpoint(host: "fe80::1", interface: 3, port: 1), Endpoint(host: "2001:db8::1", interface: 3, port: 1),
            Endpoint(host: "169.254.3.4", interface: 3, port: 1), Endpoint(host: "192.0.2.1", interface: 3, port: 1),
        ]
        let sorted = places.sorted { ($0.order, $0.host) < ($1.order, $1.host) }
        #expect(sorted.map(\.host) == ["192.0.2.1", "2001:db8::1", "169.254.3.4", "fe80::1"])
        #expect(places.map(\.interface) == [3, 0, 3, 0])
        #expect(places.map(\.description) == ["[fe80::1%3]:1", "[2001:db8::1]:1", "169.254.3.4:1", "192.0.2.1:1"])
    }
}
