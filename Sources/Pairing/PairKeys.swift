import Sodium

/// What a pair derives from its secret for places where they have no link of their own.
package struct PairKeys: Sendable {
    private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567")
    private static let roomLength = 26

    private let room: [UInt8]
    private let dtls: [UInt8]

    /// - Parameter secret: of the pair.
    package init(secret: [UInt8]) {
        room = Hash.hmacSHA256(key: secret, Array("room".utf8))
        dtls = Hash.hmacSHA256(key: secret, Array("dtls".utf8))
    }

    /// The room at a rooms server where the pair meets on a day: another one each day, and nobody else can tell whose it is.
    ///
    /// - Parameter day: since 1970, in UTC.
    package func roomName(onDay day: Int) -> String {
        let mac = Hash.hmacSHA256(key: room, Array("\(day)".utf8))
        return String((0..<Self.roomLength).map { Self.alphabet[mac.bits(from: 5 * $0)] })
    }

    /// Proves to the other device, in a room, that the DTLS fingerprints are those of the pair. A proof that comes back is no proof.
    ///
    /// - Parameters:
    ///   - member: the own name in the room.
    ///   - fingerprints: of the own and of the other certificate, SHA-256.
    package func proof(room: String, member: String, own: [UInt8], other: [UInt8]) -> [UInt8] {
        let text = [Array("oriel room 1".utf8), Array(room.utf8), Array(member.utf8), own, other].concatenated
        return Hash.hmacSHA256(key: dtls, text)
    }

    package func isProof(_ proof: [UInt8], room: String, member: String, own: [UInt8], other: [UInt8]) -> Bool {
        Hash.areEqual(proof, self.proof(room: room, member: member, own: own, other: other))
    }
}

extension [UInt8] {
    /// Five bits of a text, as a number.
    fileprivate func bits(from first: Int) -> Int {
        let word = Int(self[first / 8]) << 8 | (first / 8 + 1 < count ? Int(self[first / 8 + 1]) : 0)
        return word >> (11 - first % 8) & 31
    }
}
