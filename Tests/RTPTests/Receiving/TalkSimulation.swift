import Media
import SoundCoding
import TestSupport
import Time

@testable import RTP

extension JitterBuffer {
    /// Receives a packet as `Voice` does.
    mutating func receive(_ packet: ReceivedSound) {
        if let samples = OpusDecoder.samples(of: packet.bytes) { receive(packet, samples: samples) }
    }
}

/// A talker, a link and who hears it, in virtual time: packets of 20 ms are sent by the talker's clock, and each 10 ms by this machine's, as
/// many samples are played. Decoders and the pitch of voices are replaced by numbers.
struct TalkSimulation {
    /// A step as it was played.
    struct Played {
        let step: JitterBuffer.Step
        let at: Instant
        /// Of a packet, which one it was, counted from 0.
        var index: Int? { if case .packet(let bytes, _, _) = step { Self.index(bytes) } else { nil } }

        static func index(_ bytes: [UInt8]) -> Int {
            bytes.count < 4 ? -1 : Int(bytes[1]) << 16 | Int(bytes[2]) << 8 | Int(bytes[3])
        }
    }

    /// What the talker does in a packet's time.
    enum Deed { case speaks, isQuiet, sendsNothing }

    static let start = Instant.seconds(1000)
    private static let tick = Duration.milliseconds(10)
    /// A period of a voice of 200 Hz.
    private static let period = 240

    var buffer = JitterBuffer()
    var link: VirtualLink
    /// How much faster the talker's clock is, in parts of a million.
    var skew = 0.0
    var deed: (Int) -> Deed = { _ in .speaks }
    /// What is added to timestamps and numbers from a packet on.
    var offset: (timestamp: UInt32, number: UInt16) = (0xFFFF_0000, 65_000)
    private(set) var now = start
    private(set) var sent = 0
    /// When packets were sent, by index, in case they were.
    private(set) var sentAt: [Int: Instant] = [:]
    private(set) var arrivals: [(at: Instant, index: Int)] = []
    private(set) var played: [Played] = []
    /// Samples by which sound was made shorter, and longer.
    private(set) var spliced = (shorter: 0, longer: 0)
    private var splicedAt = start
    private var isSilent = true
    private var number: UInt16 = 0
    private var ahead = 0
    private var onWay: [(at: Instant, ReceivedSound, index: Int)] = []

    init(_ conditions: VirtualLink.Conditions = .init(rate: 10_000_000), seed: UInt64 = 1) {
        link = VirtualLink(conditions, seed: seed)
    }

    mutating func run(_ time: Duration) {
        let end = now + time
        while now < end {
            now += Self.tick
            send()
            while let first = onWay.first, first.at <= now {
                onWay.removeFirst()
                arrivals.append((first.at, first.index))
                buffer.receive(first.1)
            }
            play()
        }
    }

    /// When a packet's first sample is captured, on the machine's clock.
    func capturedAt(_ index: Int) -> Instant { Self.start + .seconds(Double(index) * 0.02 / (1 + skew / 1e6)) }

    private mutating func send() {
        while capturedAt(sent + 1) <= now {
            defer { sent += 1 }
            let deed = deed(sent)
            if deed == .sendsNothing { continue }
            let at = capturedAt(sent + 1)
            sentAt[sent] = at
            let bytes: [UInt8] =
                deed == .isQuiet ? [0x78] : [0x78, UInt8(sent >> 16), UInt8(sent >> 8 & 0xFF), UInt8(sent & 0xFF)]
            for arrival in link.send(bytes.count + 60, at: at) {
                let packet = ReceivedSound(
                    sequenceNumber: offset.number &+ number,
                    timestamp: offset.timestamp &+ UInt32(sent) &* 960,
                    arrivedAt: arrival,
                    bytes: bytes
                )
                let place = (onWay.lastIndex { $0.at <= arrival } ?? -1) + 1
                onWay.insert((arrival, packet, sent), at: place)
            }
            number &+= 1
        }
    }

    private mutating func play() {
        while ahead < 480 {
            let step = buffer.next(at: now)
            if step != .silence || !isSilent {
                played.append(Played(step: step, at: now + .nanoseconds(ahead * 62_500 / 3)))
            }
            isSilent = step == .silence
            switch step {
            case .packet(_, let samples, let surplus):
                ahead += samples
                splice(surplus)
            case .recovery(_, let samples), .concealment(let samples): ahead += samples
            case .silence:
                ahead = 0
                return
            }
        }
        ahead -= 480
    }

    private mutating func splice(_ surplus: Int) {
        guard surplus != 0, now >= splicedAt + .milliseconds(60) else { return }
        splicedAt = now
        if surplus > 0 {
            ahead -= Self.period
            spliced.shorter += Self.period
        } else {
            ahead += Self.period
            spliced.longer += Self.period
        }
    }

    // MARK: - What came of it

    /// From the talker's mouth to the ear, for the packets from one on, in milliseconds.
    func delays(from first: Int = 0) -> [Double] {
        played.compactMap { played in
            played.index.flatMap { $0 >= first ? (played.at - capturedAt($0)).milliseconds : nil }
        }
    }

    /// How many samples were made up since an instant.
    func concealed(since start: Instant = start) -> Int {
        played.reduce(0) { sum, played in
            if case .concealment(let samples) = played.step, played.at >= start { sum + samples } else { sum }
        }
    }

    /// How long packets are to wait, from one on, so that a share of them is there in time, if all wait equally long: in milliseconds from the
    /// mouth to the ear.
    func fixedDelay(for share: Double, from first: Int) -> Double {
        let delays = arrivals.filter { $0.index >= first }.map { ($0.at - capturedAt($0.index)).milliseconds }.sorted()
        return delays[Int(Double(delays.count - 1) * share)]
    }
}
