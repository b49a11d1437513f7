import Testing

@testable import RTP
@testable import WebRTC

@Suite struct SRTPTests {
    static let profiles = [SRTPProfile.aes128CounterSHA1, .aes128GCM, .aes256GCM]

    /// The keys of both ends, as if a handshake had made them.
    private func keys(_ profile: SRTPProfile, seed: UInt64 = 1) -> (client: SRTPKeys, server: SRTPKeys) {
        var random = SplitMix64(seed: seed)
        let size = 2 * (profile.keySize + profile.saltSize)
        let material = (0..<size).map { _ in UInt8.random(in: 0 ... .max, using: &random) }
        return (
            SRTPKeys(profile, material: material, role: .client), SRTPKeys(profile, material: material, role: .server)
        )
    }

    @Test func materialIsCutAsTheRFCSays() {
        let material = (0..<60).map { UInt8($0) }
        let keys = SRTPKeys(.aes128CounterSHA1, material: material, role: .client)
        #expect(keys.sending == Array(0..<16) + Array(32..<46))
        #expect(keys.receiving == Array(16..<32) + Array(46..<60))
        let server = SRTPKeys(.aes128CounterSHA1, material: material, role: .server)
        #expect(server.sending == keys.receiving)
        let wide = SRTPKeys(.aes256GCM, material: Array(0..<88), role: .server)
        #expect(wide.sending == Array(32..<64) + Array(76..<88))
    }

    /// Master key and salt of RFC 3711 §B.3, and what libsrtp's own tests make with them.
    @Test func packetsAreProtectedAsElsewhere() throws {
        let key: [UInt8] = [
            0xE1, 0xF9, 0x7A, 0x0D, 0x3E, 0x01, 0x8B, 0xE0, 0xD6, 0x4F, 0xA3, 0x2C, 0x06, 0xDE, 0x41, 0x39,
        ]
        let salt: [UInt8] = [0x0E, 0xC6, 0x75, 0xAD, 0x49, 0x8A, 0xFE, 0xEB, 0xB6, 0x96, 0x0B, 0x3A, 0xAB, 0xE6]
        let keys = SRTPKeys(.aes128CounterSHA1, material: key + key + salt + salt, role: .client)
        let session = try #require(SRTPSession(keys))
        let payload = [UInt8](repeating: 0xAB, count: 16)
        let header: [UInt8] = [0x80, 0x0F, 0x12, 0x34, 0xDE, 0xCA, 0xFB, 0xAD, 0xCA, 0xFE, 0xBA, 0xBE]
        #expect(
            session.protect(rtp: header + payload) == header + [
                0x4E, 0x55, 0xDC, 0x4C, 0xE7, 0x99, 0x78, 0xD8, 0x8C, 0xA4, 0xD2, 0x15, 0x94, 0x9D, 0x24, 0x02,
                0xB7, 0x8D, 0x6A, 0xCC, 0x99, 0xEA, 0x17, 0x9B, 0x8D, 0xBB,
            ]
        )
        let report: [UInt8] = [0x81, 0xC8, 0, 0x0B, 0xCA, 0xFE, 0xBA, 0xBE]
        let protected = try #require(session.protect(rtcp: report + payload))
        #expect(
            protected == report + [
                0x71, 0x28, 0x03, 0x5B, 0xE4, 0x87, 0xB9, 0xBD, 0xBE, 0xF8, 0x90, 0x41, 0xF9, 0x77, 0xA5, 0xA8,
                0x80, 0, 0, 0x01, 0x99, 0x3E, 0x08, 0xCD, 0x54, 0xD6, 0xC1, 0x23, 0x07, 0x98,
            ]
        )
        #expect(session.open(rtcp: protected) == report + payload)
    }

    /// What libsrtp keeps of each sender it keeps for ever.
    @Test func onlySoManySendersAreHeard() throws {
        let (client, server) = keys(.aes128GCM)
        let sender = try #require(SRTPSession(client))
        let receiver = try #require(SRTPSession(server))
        func isHeard(_ ssrc: UInt32) throws -> Bool {
            var goodbye: [UInt8] = []
            RTCPPacket.write(goodbyeOf: [ssrc], to: &goodbye)
            return receiver.open(rtcp: try #require(sender.protect(rtcp: goodbye))) != nil
        }
        for ssrc in 1...16 as ClosedRange<UInt32> { #expect(try isHeard(ssrc)) }
        for ssrc in 17...20 as ClosedRange<UInt32> { #expect(try !isHeard(ssrc)) }
        #expect(try isHeard(1) && isHeard(16))
    }

    @Test(arguments: profiles)
    func packetsComeThroughBothWays(profile: SRTPProfile) throws {
        let (client, server) = keys(profile)
        for (here, there) in [(client, server), (server, client)] {
            let sender = try #require(SRTPSession(here))
            let receiver = try #require(SRTPSession(there))
            let opener = try #require(RTPOpener(profile, key: there.receiving))
            for number in 0..<50 as Range<UInt16> {
                var packet: [UInt8] = []
                let header = RTPHeader(
                    marker: false,
                    payloadType: 96,
                    sequenceNumber: 0xFFE0 &+ number,
                    timestamp: 7,
                    ssrc: 0xCAFE
                )
                header.write(to: &packet)
                packet += [UInt8](repeating: UInt8(number), count: Int(number) * 20)
                let protected = try #require(sender.protect(rtp: packet))
                #expect(protected.count <= packet.count + 16)
                #expect(number == 0 || !protected.starts(with: packet))
                #expect(opener.open(protected) == packet)
                var goodbye: [UInt8] = []
                RTCPPacket.write(goodbyeOf: [0xCAFE, UInt32(number)], to: &goodbye)
                let sealed = try #require(sender.protect(rtcp: goodbye))
                #expect(receiver.open(rtcp: sealed) == goodbye)
            }
        }
    }

    @Test(arguments: profiles)
    func forgedAndRepeatedReportsAreRefused(profile: SRTPProfile) throws {
        let (client, server) = keys(profile)
        let sender = try #require(SRTPSession(client))
        let receiver = try #require(SRTPSession(server))
        var goodbye: [UInt8] = []
        RTCPPacket.write(goodbyeOf: [1, 2, 3], to: &goodbye)
        let sealed = try #require(sender.protect(rtcp: goodbye))
        for index in sealed.indices {
            for bit in 0..<8 as Range<UInt8> {
                var forged = sealed
                forged[index] ^= 1 << bit
                #expect(receiver.open(rtcp: forged) == nil, "byte \(index), bit \(bit)")
            }
        }
        for length in 0..<sealed.count { #expect(receiver.open(rtcp: Array(sealed[..<length])) == nil) }
        #expect(sender.open(rtcp: sealed) == nil, "not a mirror")
        let other = try #require(SRTPSession(keys(profile, seed: 2).server))
        #expect(other.open(rtcp: sealed) == nil)
        #expect(receiver.open(rtcp: sealed) == goodbye)
        #expect(receiver.open(rtcp: sealed) == nil, "a repetition")
    }

    /// Viewers without a retransmission stream get lost packets as they were.
    /// Invariant: sameBytes.
    @Test(arguments: profiles)
    func aPacketMayBeProtectedAgain(profile: SRTPProfile) throws {
        let session = try #require(SRTPSession(keys(profile).client))
        var packet: [UInt8] = []
        RTPHeader(marker: true, payloadType: 96, sequenceNumber: 9, timestamp: 1, ssrc: 2).write(to: &packet)
        packet += [1, 2, 3, 4, 5]
        let first = try #require(session.protect(rtp: packet))
        #expect(session.protect(rtp: packet) == first)
    }
}
