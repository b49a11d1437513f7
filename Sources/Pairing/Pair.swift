/// What the device of a pair may do here.
package enum PairRight: String, CaseIterable, Codable, Sendable {
    /// Look in at what this device shares with devices nearby.
    case watch
    case call
    case message
    case files
    /// Command the picture of a call, as viewers with that right do.
    case controls

    /// Those of a new pair.
    package static let usual: Set<PairRight> = [.watch, .call, .message, .files]
}

/// Another device that this one knows.
package struct Pair: Equatable, Sendable, Identifiable {
    package enum State: String, Codable, Sendable {
        /// Stored here. The other side may not have stored it: it proves that at the next link.
        case pending
        case paired
        /// Given up here, and the other side does not know yet.
        case unpaired
    }

    package var id: PairID { PairID(secret: secret) }
    package let secret: [UInt8]
    /// By which the announcements of the device are recognised (`ResolvableID`).
    package var resolvingKey: [UInt8]
    package var state: State
    /// For people here; no two pairs have the same one (`PairStore.rename`).
    package internal(set) var name: String
    package var rights: Set<PairRight>
    /// Whether this device took the code.
    package let hasBegun: Bool
    /// In RFC 3339.
    package let since: String
    /// When the device was last linked, in RFC 3339; nil if it never was after the pairing.
    package var seen: String?
    /// Where it was reached, the newest first: `192.0.2.7:4433`.
    package var addresses: [String]

    package init(_ pair: PairingSession.NewPair, name: String, since: String) {
        (resolvingKey, secret) = (pair.resolvingKey, pair.secret)
        (state, self.name, rights, hasBegun) = (.pending, name, PairRight.usual, pair.hasBegun)
        (self.since, seen, addresses) = (since, nil, [])
    }

    /// Notes where it was reached.
    package mutating func note(address: String, at time: String) {
        addresses.removeAll { $0 == address }
        addresses = Array(([address] + addresses).prefix(Self.mostAddresses))
        seen = time
    }

    private static let mostAddresses = 4
}

/// A line of the file of pairs.
extension Pair: Codable {
    private enum Key: String, CodingKey {
        case secret, resolvingKey, state, name, rights, hasBegun, since, seen, addresses
    }

    package init(from decoder: any Decoder) throws {
        let line = try decoder.container(keyedBy: Key.self)
        func bytes(_ key: Key, _ count: Int) throws -> [UInt8] {
            guard let bytes = [UInt8](hexadecimal: try line.decode(String.self, forKey: key)), bytes.count == count
            else {
                throw DecodingError.dataCorruptedError(forKey: key, in: line, debugDescription: "not \(count) bytes")
            }
            return bytes
        }
        secret = try bytes(.secret, PairingFrame.keyLength)
        resolvingKey = try bytes(.resolvingKey, PairingFrame.keyLength)
        state = try line.decode(State.self, forKey: .state)
        name = try line.decode(String.self, forKey: .name)
        rights = Set(try line.decode([PairRight].self, forKey: .rights))
        hasBegun = try line.decode(Bool.self, forKey: .hasBegun)
        since = try line.decode(String.self, forKey: .since)
        seen = try line.decodeIfPresent(String.self, forKey: .seen)
        addresses = try line.decode([String].self, forKey: .addresses)
    }

    package func encode(to encoder: any Encoder) throws {
        var line = encoder.container(keyedBy: Key.self)
        try line.encode(secret.hexadecimal, forKey: .secret)
        try line.encode(resolvingKey.hexadecimal, forKey: .resolvingKey)
        try line.encode(state, forKey: .state)
        try line.encode(name, forKey: .name)
        try line.encode(PairRight.allCases.filter(rights.contains), forKey: .rights)
        try line.encode(hasBegun, forKey: .hasBegun)
        try line.encode(since, forKey: .since)
        try line.encodeIfPresent(seen, forKey: .seen)
        try line.encode(addresses, forKey: .addresses)
    }
}
