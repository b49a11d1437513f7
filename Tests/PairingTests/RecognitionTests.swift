import Sodium
import Testing

@testable import Pairing

/// How devices that are paired recognise each other.
@Suite struct RecognitionTests {
    private let secret = [UInt8](repeating: 1, count: 32)

    /// As an independent program computes it: Python's hmac, hashlib and base64.
    @Test func derivedValuesAreThoseOfOthers() {
        let proof = LinkProof(
            secret: secret,
            certificate: [UInt8](repeating: 2, count: 32),
            serverNonce: [UInt8](repeating: 3, count: 16),
            clientNonce: [UInt8](repeating: 4, count: 16)
        )
        #expect(proof.ofClient.hexadecimal == "7fcece55bfe28a8212ff74b13bf5be65dfa0aef8bd284d97cb87f64ee9fd9032")
        #expect(proof.ofServer.hexadecimal == "a1b2945f9eb7ac2e91d77378f867a64d288597427b132a0eb9454ccede2e2ffe")
        let keys = PairKeys(secret: secret)
        #expect(keys.roomName(onDay: 20_787) == "kyocqnehdusri2wagwtywjnowz")
        let (own, other) = ([UInt8](repeating: 5, count: 32), [UInt8](repeating: 6, count: 32))
        #expect(
            keys.proof(room: "r", member: "m", own: own, other: other).hexadecimal
                == "f5d66ee79368ed0b28ecee46520bbbf21b61ad979eb3325dd51c375e7d8ab293"
        )
    }

    @Test func aProofIsOfOneSideAndOneLink() {
        func proof(_ secret: [UInt8], _ certificate: UInt8 = 2, _ server: UInt8 = 3, _ client: UInt8 = 4) -> LinkProof {
            LinkProof(
                secret: secret,
                certificate: [UInt8](repeating: certificate, count: 32),
                serverNonce: [UInt8](repeating: server, count: 16),
                clientNonce: [UInt8](repeating: client, count: 16)
            )
        }
        let own = proof(secret)
        #expect(own.isClient(own.ofClient) && own.isServer(own.ofServer))
        #expect(!own.isClient(own.ofServer) && !own.isServer(own.ofClient) && !own.isClient([]))
        let others = [
            proof([UInt8](repeating: 9, count: 32)), proof(secret, 9), proof(secret, 2, 9), proof(secret, 2, 3, 9),
        ]
        for other in others { #expect(!own.isClient(other.ofClient) && !own.isServer(other.ofServer)) }
    }

    /// Only with the key are two announcements of one device alike.
    @Test func announcementsCannotBeLinked() throws {
        let (key, other) = (Randomness.bytes(32), Randomness.bytes(32))
        let ids = (0..<200).map { ResolvableID(key: key, instance: [UInt8($0)]) }
        #expect(Set(ids.map(\.bytes)).count == ids.count)
        for (number, id) in ids.enumerated() {
            let instance = [UInt8(number)]
            #expect(id.isOf(key: key, instance: instance) && !id.isOf(key: other, instance: instance))
            // Of another announcement, it is copied.
            #expect(!id.isOf(key: key, instance: [UInt8(number) ^ 1]) && id.bytes.count == ResolvableID.length)
            #expect(try #require(ResolvableID(bytes: id.bytes)) == id)
        }
        #expect(ResolvableID(bytes: [1, 2]) == nil)
        // Each bit of 128 is set in about half of them: seven standard deviations.
        for bit in 0..<128 {
            let count = ids.count { $0.bytes[bit / 8] >> (bit % 8) & 1 == 1 }
            #expect(abs(count - 100) < 50, "\(bit): \(count)")
        }
    }

    /// A member that sends a proof back, or stands between the two with its own certificates, proves nothing.
    @Test func aRoomProvesBothFingerprints() {
        let keys = PairKeys(secret: secret)
        let (own, other) = (Randomness.bytes(32), Randomness.bytes(32))
        let proof = keys.proof(room: "r", member: "m", own: own, other: other)
        #expect(keys.isProof(proof, room: "r", member: "m", own: own, other: other))
        #expect(!keys.isProof(proof, room: "r", member: "m", own: other, other: own))
        #expect(!keys.isProof(proof, room: "r", member: "n", own: own, other: other))
        #expect(!keys.isProof(proof, room: "s", member: "m", own: own, other: other))
        #expect(!PairKeys(secret: own).isProof(proof, room: "r", member: "m", own: own, other: other))
        #expect(keys.roomName(onDay: 1) != keys.roomName(onDay: 2))
        #expect(PairKeys(secret: own).roomName(onDay: 1) != keys.roomName(onDay: 1))
    }

    @Test func identitiesAreWrittenAndRead() {
        let pair = PairID(secret: secret)
        #expect(PairID("\(pair)") == pair && "\(pair)".utf8.count == 32 && PairID(secret: [1]) != pair)
        for text in ["", "0", "zz", String(repeating: "0", count: 31), String(repeating: "0", count: 34), "+1"] {
            #expect(PairID(text) == nil, "\(text)")
        }
        #expect([UInt8](hexadecimal: "00fFA5")! == [0, 255, 165] && [UInt8]([0, 255, 165]).hexadecimal == "00ffa5")
    }
}
