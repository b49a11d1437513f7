/// What keeps a link up or ends it, in any state: a type, and a body. Numbers are big-endian.
///
/// ```
/// 70 PING                 once both are linked, the client's
/// 71 PONG
/// 72 CLOSE    reason u8   the last message
/// ```
package enum LinkSignal: Equatable, Sendable {
    case ping
    case pong
    case close(LinkClosing)

    private enum Kind: UInt8 { case ping = 0x70, pong, close }

    package var bytes: [UInt8] {
        switch self {
        case .ping: [Kind.ping.rawValue]
        case .pong: [Kind.pong.rawValue]
        case .close(let reason): [Kind.close.rawValue, reason.rawValue]
        }
    }

    /// - Returns: nil for other messages.
    package init?(_ bytes: [UInt8]) {
        switch (bytes.first.flatMap(Kind.init), bytes.count) {
        case (.ping, 1): self = .ping
        case (.pong, 1): self = .pong
        // A reason of a later version is some reason.
        case (.close, 2): self = .close(LinkClosing(rawValue: bytes[1]) ?? .goingAway)
        default: return nil
        }
    }
}

/// Why a link ends.
package enum LinkClosing: UInt8, Sendable, CaseIterable {
    case goingAway = 1
    /// The other side has sent something that makes no sense.
    case broken
    /// The devices are not paired, or not any more.
    case unpaired
    case late
    /// The pairing came to nothing.
    case notPaired
    /// There is another link of the pair.
    case replaced
}
