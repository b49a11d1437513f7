import RTP
import TestSupport
import Testing
import Time

@testable import WebRTC

/// The viewer's end of a call, as far as a sender can see it.
final class RemoteViewer {
    let dtls: DTLSConnection
    private(set) var datagrams = 0
    private(set) var packets: [RTPPacket] = []
    private(set) var reports: [RTCPPacket] = []
    private var protection: SRTPSession?
    private var opener: RTPOpener?

    init(_ role: DTLSRole) throws {
        dtls = try DTLSConnection(role, identity: Identities.there, expected: [Identities.here.fingerprint])
    }

    func receive(_ datagram: [UInt8]) throws {
        datagrams += 1
        if 20...63 ~= datagram[0] {
            datagram.withUnsafeBytes { dtls.receive($0) }
            if protection == nil, let keys = dtls.keys {
                protection = SRTPSession(keys)
                opener = RTPOpener(keys.profile, key: keys.receiving)
            }
        } else if 192...223 ~= datagram[1] {
            reports += try RTCPPacket.parse(try #require(protection?.open(rtcp: datagram)))
        } else {
            packets.append(try RTPPacket(parsing: try #require(opener?.open(datagram))))
        }
        #expect(datagram.count <= PeerSession.maximumDatagramSize)
    }

    func protect(_ report: [UInt8]) throws -> [UInt8] { try #require(protection?.protect(rtcp: report)) }
}

/// A session and its viewer over a line without loss, in virtual time; but OpenSSL's timer keeps real time.
final class VirtualCall {
    static let start = Instant.seconds(5000)

    var session: PeerSession
    let negotiation: Negotiation
    let viewer: RemoteViewer
    let history: PacketHistory
    var now = start

    /// - Parameter offer: its fingerprint is replaced by the viewer's.
    init(_ offer: Offer = Offer()) throws {
        negotiation = try offer.replacing("a=fingerprint", with: "a=fingerprint:\(Identities.there.fingerprint)")
            .negotiate()
        var random = SplitMix64(seed: 5)
        history = PacketHistory(
            codec: negotiation.codec,
            maximumPayloadSize: PeerSession.maximumPayloadSize,
            capacity: 256,
            using: &random
        )
        let streams = StreamBundle(
            [(negotiation.video, history)],
            pace: .video(targetBitrate: 2_500_000),
            clock: ClockReading(monotonic: Self.start, wall: 1_767_225_600_000_000_000),
            using: &random
        )
        session = try PeerSession(
            negotiation.agreement.role,
            expecting: negotiation.agreement.remote.fingerprints,
            streams: streams,
            identity: Identities.here,
            now: now
        )
        viewer = try RemoteViewer(negotiation.agreement.role == .client ? .server : .client)
    }

    /// Lets ICE find a path and carries the handshake.
    func connect() throws {
        session.pathFound()
        viewer.dtls.start()
        try exchange()
    }

    /// Carries datagrams both ways until none is left.
    func exchange() throws { try session.exchange(with: viewer, at: now) }

    var end: PeerSession.End? { session.end }
    var statistics: StreamStatistics { session.streams.streams[0].statistics }
    var profile: SRTPProfile? { session.profile }
    var deadline: Instant? { session.nextDeadline(at: now) }
    func takeKeyframeRequest() -> Bool { session.takeKeyframeRequest(of: negotiation.mid, at: now) }

    func receive(_ datagram: [UInt8]) { datagram.withUnsafeBytes { session.receive($0, now: now) } }

    /// The viewer reports.
    func report(_ bytes: [UInt8]) throws {
        receive(try viewer.protect(bytes))
        try exchange()
    }

    func append(_ size: Int, isKeyframe: Bool = false) throws -> [UInt8] {
        let frame = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ size) }
        history.append(
            frame: frame,
            isKeyframe: isKeyframe,
            dimensions: (1280, 720),
            capturedAt: now - .milliseconds(4),
            now: now
        )
        try exchange()
        return frame
    }
}

/// Feedback that a viewer sends.
enum Feedback {
    private static func word(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    /// The viewer's source leaves, after an empty report as most compound packets begin with.
    static func goodbye(_ ssrcs: UInt32..., after reporter: UInt32 = 1) -> [UInt8] {
        [0x80, 201, 0, 1] + word(reporter) + [0x80 | UInt8(ssrcs.count), 203, 0, UInt8(ssrcs.count)]
            + ssrcs.flatMap { word($0) }
    }

    static func report(from reporter: UInt32) -> [UInt8] { [0x80, 201, 0, 1] + word(reporter) }

    static func pictureLoss(_ ssrc: UInt32) -> [UInt8] { [0x81, 206, 0, 2, 0, 0, 0, 1] + word(ssrc) }

    static func lost(_ number: UInt16, _ ssrc: UInt32) -> [UInt8] {
        [0x81, 205, 0, 3, 0, 0, 0, 1] + word(ssrc) + [UInt8(number >> 8), UInt8(number & 0xFF), 0, 0]
    }
}
