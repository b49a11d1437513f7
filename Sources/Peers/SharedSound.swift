import Media
import RTP
import Time
import WebRTC

/// The broadcast's sound for all peers: its packets, and how much of each link they take.
struct SharedSound {
    /// Packets that can be sent again: those of two seconds.
    private static let capacity = 100
    /// Bytes of a packet's headers and of its seal.
    private static let overhead = 34
    /// A rate is measured over so long.
    private static let window = Duration.milliseconds(500)

    let history = SharedSound.makeHistory()
    private var windowStart = Instant.start
    private var bytes = 0
    private var lastRate = 0.0

    static func makeHistory() -> PacketHistory {
        PacketHistory(soundOf: PeerSession.maximumPayloadSize, capacity: capacity)
    }

    mutating func append(_ packet: [UInt8], _ sound: EncodedSound, now: Instant) {
        history.append(sound: packet, capturedAt: sound.capturedAt, now: now)
        advance(to: now)
        bytes += packet.count + Self.overhead
    }

    /// What it takes of a link now, in bits a second; nothing while it is silent.
    mutating func rate(at now: Instant) -> Double {
        advance(to: now)
        return lastRate
    }

    private mutating func advance(to now: Instant) {
        let elapsed = now - windowStart
        guard elapsed >= Self.window else { return }
        lastRate = elapsed < Self.window * 2 ? Double(bytes * 8) / elapsed.seconds : 0
        (windowStart, bytes) = (now, 0)
    }
}

/// What the links of the peers who hear leave for the sound: one encode serves all of them.
struct SoundCapacity: Equatable {
    /// The part of a link that pictures get before all, in bits a second. Of the rest, half.
    private static let pictures = 100_000.0
    /// A link that carries less than this share of what most carry does not make the sound worse for the others…
    private static let leastShare = 0.5
    /// …than this, in bits a second.
    private static let goodRate = 48_000.0
    private static let step = 4000

    /// The target of the encoder, in bits a second; nil if no link was measured.
    let bitrate: Int?

    /// - Parameter links: what those carry that were measured, in bits a second.
    init(_ links: [Double]) {
        let median = links.isEmpty ? 0 : links.sorted()[links.count / 2]
        let rates = links.map { link in
            let rate = max(0, RenditionCapacity.share * link - Self.pictures) / 2
            return link < Self.leastShare * median ? max(rate, Self.goodRate) : rate
        }
        bitrate = rates.min().map { Int($0) / Self.step * Self.step }
    }
}
