import Media
import RTP
import Time
import WebRTC

/// The broadcast's sound for all peers: its packets, and their bitrate.
struct SharedSound {
    /// Packets that can be sent again: those of two seconds.
    private static let capacity = 100
    /// Bytes of a packet's headers and of its seal.
    private static let overhead = 34
    /// The time over which the rate is measured.
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

    /// The present bitrate, in bits a second; 0 in silence.
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

/// The capacity of the listeners' links for sound, of which all get one encode.
struct SoundCapacity: Equatable {
    /// The first part of a link, in bits a second, is for pictures, and half of the rest.
    private static let pictures = 100_000.0
    /// A link below this share of the median does not push the sound below `goodRate`.
    private static let leastShare = 0.5
    /// In bits a second.
    private static let goodRate = 48_000.0
    private static let step = 4000

    /// The target of the encoder, in bits a second; nil if no link was measured.
    let bitrate: Int?

    /// - Parameter links: the measured capacities, in bits a second.
    init(_ links: [Double]) {
        let median = links.isEmpty ? 0 : links.sorted()[links.count / 2]
        let rates = links.map { link in
            let rate = max(0, RenditionCapacity.share * link - Self.pictures) / 2
            return link < Self.leastShare * median ? max(rate, Self.goodRate) : rate
        }
        bitrate = rates.min().map { Int($0) / Self.step * Self.step }
    }
}
