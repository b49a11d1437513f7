import ICE
import Media
import Pixels
import Posix
import RTP
import Synchronization
import Time
import VideoEncoding
import WebRTC

/// The call of one peer, on one thread.
final class StreamCall {
    static let locals = [
        LocalStream(track: "screen", codecs: [[.video(.vp8)]]), LocalStream(track: "camera", codecs: [[.video(.vp8)]]),
        LocalStream(track: "sound", codecs: [[.opus]]),
    ]

    private enum Event {
        case connected, failed
        case datagram([UInt8])
    }

    /// What the agent says, until the loop takes it.
    private final class Mailbox {
        var events: [Event] = []
        var hasGathered = false
    }

    private let loop = ICELoop()
    private let mailbox = Mailbox()
    private let identity: DTLSIdentity
    private let histories: [String: PacketHistory]
    private let sound = SoundSource()
    private let pictures: [PictureSource]
    private var agent: ICEAgent!
    /// The mid of each track.
    private var mids: [String: String] = [:]
    private var batch = DatagramBatch()

    init() throws {
        identity = try DTLSIdentity()
        var random = SystemRandomNumberGenerator()
        pictures = [try PictureSource("screen", 320, 240), try PictureSource("camera", 160, 128)]
        var histories = ["sound": PacketHistory(soundOf: PeerSession.maximumPayloadSize, capacity: 100)]
        for picture in pictures {
            histories[picture.track] = PacketHistory(
                codec: .vp8,
                maximumPayloadSize: PeerSession.maximumPayloadSize,
                capacity: 500,
                using: &random
            )
        }
        self.histories = histories
    }

    func bundle(of streams: [AgreedStream]) -> StreamBundle {
        var random = SystemRandomNumberGenerator()
        return StreamBundle(
            streams.map { ($0.formats[0].parameters, histories[$0.track]!) },
            pace: .video(targetBitrate: 1_000_000),
            clock: ClockReading(monotonic: MonotonicClock.now(), wall: MonotonicClock.wallClock()),
            using: &random
        )
    }

    /// Waits for the candidates of this side.
    func gather(isControlling: Bool) throws {
        let mailbox = mailbox
        agent = ICEAgent(in: loop, ICEAgent.Configuration(), isControlling: isControlling) { event in
            switch event {
            case .gathered: mailbox.hasGathered = true
            case .checked: break
            case .connected: mailbox.events.append(.connected)
            case .failed: mailbox.events.append(.failed)
            case .datagram(let bytes): mailbox.events.append(.datagram(Array(bytes)))
            }
        }
        guard agent != nil else { throw Failure("there is no address to send from") }
        while !mailbox.hasGathered { loop.run(until: nil) }
    }

    var transport: TransportParameters {
        TransportParameters(
            credentials: agent.credentials!,
            fingerprints: [identity.fingerprint],
            candidates: agent.candidates
        )
    }

    /// Begins with what was agreed on; `bundle` is made of the same streams, or of more.
    func begin(
        _ streams: [AgreedStream],
        _ remote: TransportParameters,
        _ role: DTLSRole,
        _ bundle: StreamBundle
    ) throws -> PeerSession {
        var bundle = bundle
        bundle.keep(streams.map { ($0.formats[0].parameters, histories[$0.track]!) })
        for stream in streams { mids[stream.track] = stream.mid }
        let session = try PeerSession(
            role,
            expecting: remote.fingerprints,
            streams: bundle,
            identity: identity,
            now: MonotonicClock.now()
        )
        agent.setRemote(remote.credentials)
        agent.addRemote(remote.candidates)
        return session
    }

    /// Sends until standard input ends or the peer leaves.
    func run(_ begun: consuming PeerSession) throws {
        var session = begun
        let isOver = Flag()
        let waker = loop.waker
        let reader = try Thread {
            while readLine() != nil {}
            isOver.value.store(true, ordering: .releasing)
            waker.wake()
        }
        while !isOver.value.load(ordering: .acquiring), session.end == nil { try round(&session) }
        if let end = session.end, end != .closedByPeer { throw Failure("the peer \(end)") }
        session.close(at: MonotonicClock.now(), .closed, in: &batch) { agent.send($0) }
        agent = nil
        loop.finish(from: MonotonicClock.now())
        reader.join()
    }

    private func round(_ session: inout PeerSession) throws {
        let now: Instant = MonotonicClock.now()
        for event in mailbox.events {
            switch event {
            case .connected: session.pathFound()
            case .failed: session.pathLost()
            case .datagram(let bytes): bytes.withUnsafeBytes { session.receive($0, now: now) }
            }
        }
        mailbox.events.removeAll()
        for index in pictures.indices {
            guard let mid = mids[pictures[index].track] else { continue }
            if session.takeKeyframeRequest(of: mid, at: now) { pictures[index].wantsKeyframe = true }
            try pictures[index].draw(into: histories[pictures[index].track]!, now: now)
        }
        sound.hear(into: histories["sound"]!, now: now)
        session.poll(at: now, in: &batch) { agent.send($0) }
        loop.run(until: earliest(pictures.map(\.nextAt).min(), sound.nextAt, session.nextDeadline(at: now)))
    }
}

private final class Flag: Sendable {
    let value = Atomic(false)
}

extension ICEAgent {
    /// Sends datagrams one by one. Returns how many it took, until the system takes none for now.
    fileprivate func send(_ batch: borrowing DatagramBatch) -> Int {
        for index in 0..<batch.count {
            guard batch[index].withUnsafeBytes({ send($0) }) else { return index }
        }
        return batch.count
    }
}
