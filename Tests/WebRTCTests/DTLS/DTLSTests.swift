import COpenSSL
import Testing

@testable import WebRTC

@Suite struct DTLSTests {
    @Test func bothEndsGetTheSameKeysCrosswise() throws {
        let pair = try DTLSPair()
        pair.server.start()
        #expect(pair.server.takeDatagrams().isEmpty, "the server waits")
        pair.client.start()
        pair.exchange()
        let client = try #require(pair.client.keys)
        let server = try #require(pair.server.keys)
        #expect(client.profile == .aes128GCM)
        #expect(server.profile == client.profile)
        #expect(client.sending == server.receiving)
        #expect(client.receiving == server.sending)
        #expect(client.sending != client.receiving)
        #expect(client.sending.count == 28)
        #expect(pair.client.timeout == nil)
        #expect(pair.server.timeout == nil)
    }

    @Test func keysDifferFromAssociationToAssociation() throws {
        let keys = try (0..<2).map { _ in
            let pair = try DTLSPair()
            pair.client.start()
            pair.exchange()
            return try #require(pair.client.keys).sending
        }
        #expect(keys[0] != keys[1])
    }

    @Test func datagramsFitThePath() throws {
        let pair = try DTLSPair()
        pair.client.start()
        var longest = 0
        pair.relay = { datagram in
            longest = max(longest, datagram.count)
            return [datagram]
        }
        pair.exchange()
        #expect(pair.server.keys != nil)
        #expect(1...1200 ~= longest)
    }

    @Test func eachDatagramMayBeLost() throws {
        let whole = try DTLSPair()
        whole.client.start()
        whole.exchange()
        #expect(whole.count >= 4)
        for lost in 0..<whole.count {
            let pair = try DTLSPair()
            pair.client.start()
            pair.exchange(losing: lost)
            pair.settle()
            let client = try #require(pair.client.keys, "datagram \(lost)")
            let server = try #require(pair.server.keys, "datagram \(lost)")
            #expect(client.sending == server.receiving)
        }
    }

    @Test func datagramsThatComeTwiceDoNoHarm() throws {
        let pair = try DTLSPair()
        pair.relay = { [$0, $0] }
        pair.client.start()
        pair.exchange()
        pair.settle()
        #expect(pair.client.keys != nil)
        #expect(pair.client.keys?.sending == pair.server.keys?.receiving)
    }

    /// Large key shares make browsers do so.
    @Test func aHelloInTwoDatagramsIsPutTogether() throws {
        let pair = try DTLSPair()
        pair.relay = { datagram in
            // What is in the clear after the first datagram is numbered one higher than the client did.
            datagram[13] == 1 ? Self.halves(ofHello: datagram) : [Self.renumbered(datagram)]
        }
        pair.client.start()
        pair.exchange()
        #expect(pair.client.keys != nil)
        #expect(pair.client.keys?.sending == pair.server.keys?.receiving)
    }

    @Test func anUnexpectedCertificateIsRefusedByEitherEnd() throws {
        let stranger = try DTLSIdentity().fingerprint
        let suspiciousClient = try DTLSPair(clientExpects: stranger)
        suspiciousClient.client.start()
        suspiciousClient.exchange()
        #expect(suspiciousClient.client.failure == .wrongFingerprint)
        let suspiciousServer = try DTLSPair(serverExpects: stranger)
        suspiciousServer.client.start()
        suspiciousServer.exchange()
        #expect(suspiciousServer.server.failure == .wrongFingerprint)
        #expect(suspiciousServer.server.keys == nil)
    }

    @Test(arguments: Fingerprint.Hash.allCases)
    func oneFittingFingerprintOfAnyHashSuffices(hash: Fingerprint.Hash) throws {
        let others = try [DTLSIdentity().fingerprint, Fingerprint(hash, [UInt8](repeating: 7, count: hash.size))]
        let pair = try DTLSPair()
        let client = try DTLSConnection(
            .client,
            identity: Identities.here,
            expected: others + [Identities.there.fingerprint]
        )
        client.start()
        for _ in 0..<4 {
            for datagram in client.takeDatagrams() { datagram.withUnsafeBytes { pair.server.receive($0) } }
            for datagram in pair.server.takeDatagrams() { datagram.withUnsafeBytes { client.receive($0) } }
        }
        #expect(client.keys != nil)
    }

    @Test(
        arguments: [
            ("SRTP_AES128_CM_SHA1_80", .aes128CounterSHA1), ("SRTP_AEAD_AES_256_GCM", .aes256GCM),
            ("SRTP_AES128_CM_SHA1_80:SRTP_AEAD_AES_128_GCM", .aes128GCM), ("SRTP_AES128_CM_SHA1_32", nil),
        ] as [(String, SRTPProfile?)]
    )
    func theProfileIsOneThatThePeerSpeaks(names: String, profile: SRTPProfile?) throws {
        let identity = try DTLSIdentity()
        #expect(SSL_CTX_set_tlsext_use_srtp(identity.context, names) == 0)
        for role in [DTLSRole.client, .server] {
            let here = try DTLSConnection(role, identity: Identities.here, expected: [identity.fingerprint])
            let there = try DTLSConnection(
                role == .client ? .server : .client,
                identity: identity,
                expected: [Identities.here.fingerprint]
            )
            for side in [here, there] { side.start() }
            for _ in 0..<4 {
                for datagram in here.takeDatagrams() { datagram.withUnsafeBytes { there.receive($0) } }
                for datagram in there.takeDatagrams() { datagram.withUnsafeBytes { here.receive($0) } }
            }
            // Each side prefers another; the server decides, by its own order.
            if names.contains(":"), role == .client {
                #expect(here.keys?.profile == .aes128CounterSHA1)
            } else {
                #expect(here.keys?.profile == profile)
            }
            if profile == nil { #expect(here.failure == .noSRTPProfile) }
        }
    }

    @Test(arguments: [true, false])
    func goodbyesAreHeard(fromClient: Bool) throws {
        let pair = try DTLSPair()
        pair.client.start()
        pair.exchange()
        let (leaving, staying) = fromClient ? (pair.client, pair.server) : (pair.server, pair.client)
        leaving.close()
        #expect(leaving.isClosed)
        pair.exchange()
        #expect(staying.isClosed)
    }

    @Test func rubbishAfterTheHandshakeIsDropped() throws {
        let pair = try DTLSPair()
        pair.client.start()
        pair.exchange()
        let alert: [UInt8] = [21, 254, 253, 0, 0, 0, 0, 0, 0, 0, 9, 0, 2, 2, 40]
        for rubbish in [alert, [22], [], [UInt8](repeating: 23, count: 1500)] {
            rubbish.withUnsafeBytes { pair.server.receive($0) }
        }
        #expect(pair.server.keys != nil)
        pair.client.close()
        pair.exchange()
        #expect(pair.server.isClosed)
    }

    /// A record of a ClientHello as two records of half of it each (RFC 6347 §4.2.3).
    private static func halves(ofHello record: [UInt8]) -> [[UInt8]] {
        let body = Array(record[25...])
        let middle = body.count / 2
        return [0..<middle, middle..<body.count].enumerated().map { number, part in
            func bytes(_ value: Int, _ count: Int) -> [UInt8] {
                (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
            }
            // Kind and version, epoch and number, length; kind, whole length, message number, offset and length.
            return record[0..<3] + bytes(number, 8) + bytes(part.count + 12, 2) + record[13..<19]
                + bytes(part.lowerBound, 3) + bytes(part.count, 3) + body[part]
        }
    }

    private static func renumbered(_ datagram: [UInt8]) -> [UInt8] {
        var datagram = datagram
        var start = 0
        while start + 13 <= datagram.count {
            if datagram[start + 4] == 0 { datagram[start + 10] += 1 }
            start += 13 + Int(datagram[start + 11]) << 8 + Int(datagram[start + 12])
        }
        return datagram
    }
}
