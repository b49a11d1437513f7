import Media
import RTP
import Time
import WebRTC

/// Datagrams to a session. Of the input's first byte the lowest bit says which side begins the handshake, the next one
/// whether it is done before the datagrams come; each of those follows its length in two bytes.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard count > 0 else { return 0 }
    let input = UnsafeRawBufferPointer(start: start, count: count)
    var peer = Peer(setup: input[0] & 1 == 0 ? "actpass" : "active")
    peer.session.pathFound()
    if input[0] & 2 != 0 {
        var other = Peer(setup: input[0] & 1 == 0 ? "active" : "actpass")
        other.session.pathFound()
        var isQuiet = false
        while !isQuiet {
            let (up, down) = (peer.poll(), other.poll())
            for datagram in up { datagram.withUnsafeBytes { other.session.receive($0, now: now) } }
            for datagram in down { datagram.withUnsafeBytes { peer.session.receive($0, now: now) } }
            isQuiet = up.isEmpty && down.isEmpty
        }
        precondition(peer.session.profile != nil)
    }
    var place = 1
    while place + 2 <= count {
        let length = min(Int(input[place] & 0x07) << 8 | Int(input[place + 1]), count - place - 2)
        place += 2
        peer.session.receive(UnsafeRawBufferPointer(rebasing: input[place..<place + length]), now: now)
        _ = peer.poll()
        place += length
    }
    if input[0] & 2 != 0 {
        precondition(peer.session.streams.streams[0].statistics.keyframeRequests == 0, "nothing here is sealed")
    }
    var batch = DatagramBatch()
    peer.session.close(at: now, .closed, in: &batch) { $0.count }
    return 0
}

private let now = Instant(nanoseconds: 1 << 40)
private let identity = try! DTLSIdentity()

private struct Peer: ~Copyable {
    var session: PeerSession
    let history: PacketHistory

    init(setup: String) {
        let offer = """
            v=0
            m=video 9 UDP/TLS/RTP/SAVPF 96
            a=ice-ufrag:abcd
            a=ice-pwd:0123456789abcdefghijkl
            a=fingerprint:\(identity.fingerprint)
            a=setup:\(setup)
            a=rtcp-mux
            a=rtpmap:96 VP8/90000
            """
        let negotiation = try! Negotiation(offer: SessionDescription(parsing: offer), codecs: [[.vp8]])
        var random = SplitMix64(seed: 1)
        let clock = ClockReading(monotonic: now, wall: 1 << 60)
        history = PacketHistory(codec: .vp8, maximumPayloadSize: 1000, capacity: 4, using: &random)
        let streams = StreamBundle(
            [(negotiation.agreement.streams[0].formats[0].parameters, history)],
            pace: .video(targetBitrate: 1 << 20),
            clock: clock,
            using: &random
        )
        session = try! PeerSession(
            negotiation.agreement.role,
            expecting: negotiation.agreement.remote.fingerprints,
            streams: streams,
            identity: identity,
            now: now
        )
        history.append(frame: [1, 2, 3], isKeyframe: true, dimensions: (8, 8), capturedAt: now, now: now)
    }

    mutating func poll() -> [[UInt8]] {
        var datagrams: [[UInt8]] = []
        var batch = DatagramBatch()
        session.poll(at: now, in: &batch) { batch in
            datagrams += (0..<batch.count).map { Array(batch[$0]) }
            return batch.count
        }
        return datagrams
    }
}
