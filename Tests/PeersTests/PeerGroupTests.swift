import ICE
import Media
import Peers
import Posix
import RTP
import Synchronization
import TestSupport
import Testing
import Time
import WebRTC

/// Peers that a test signals, without WHEP.
@Suite struct PeerGroupTests {
    private static let rendition = Rendition(
        id: Rendition.ID(0),
        codec: .vp8,
        width: 64,
        height: 64,
        framesPerSecond: 30,
        bitrate: 1_000_000
    )
    private static let offer = """
        v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n\
        m=video 9 UDP/TLS/RTP/SAVPF 96\r\nc=IN IP4 0.0.0.0\r\na=mid:0\r\n\
        a=ice-ufrag:abcd\r\na=ice-pwd:0123456789abcdefghijkl\r\n\
        a=fingerprint:sha-256 \((0..<32).map { _ in "AB" }.joined(separator: ":"))\r\na=setup:actpass\r\n\
        a=recvonly\r\na=rtcp-mux\r\na=rtpmap:96 VP8/90000\r\n
        """

    private static func media(_ target: TargetBitrate) -> SentMedia {
        SentMedia(codecs: [[.vp8]], renditions: [rendition], target: target) { _ in
        } removeSink: { _ in
        }
    }

    /// What was signalled, by peer.
    private final class Signals: PeerDelegate {
        let told = Mutex<[ParticipantID: [String]]>([:])

        func note(_ word: String, of id: ParticipantID) { told.withLock { $0[id, default: []].append(word) } }
        func all(of id: ParticipantID) -> [String] { told.withLock { $0[id] ?? [] } }

        func peer(_ id: ParticipantID, signalled signal: Peer.Signal) {
            let word =
                switch signal {
                case .found: "found"
                case .proposed: "proposed"
                case .migrating: "migrating"
                case .gathered(let local, let bundle):
                    local.candidates.isEmpty || bundle["0"] == nil ? "nothing" : "gathered"
                case .connected: "connected"
                case .ended(let end): "\(end)"
                }
            note(word, of: id)
        }

        func peer(_ id: ParticipantID, sent frame: ReceivedFrame) {}
        func peer(_ id: ParticipantID, said packet: ReceivedSound) {}
    }

    private final class Recorded<Value: Sendable>: Sendable {
        let all = Mutex<[Value]>([])
    }

    private let signals = Signals()
    private let sleep: MachineSleep
    private let sleeps = Recorded<Duration>()
    private let target = TargetBitrate(Self.rendition.bitrate)
    private let group: PeerGroup

    init() throws {
        let ice = ICEAgent.Configuration(addresses: ["127.0.0.1"])
        sleep = try MachineSleep()
        var configuration = PeerGroup.Configuration(Self.media(target), ice: ice)
        configuration.suspended = { [sleeps] time in sleeps.all.withLock { $0.append(time) } }
        group = try PeerGroup(configuration, suspends: sleep.watch())
    }

    /// Adds a peer that never comes.
    private func add(_ id: ParticipantID) throws {
        let agreement = try Negotiation(offer: SessionDescription(parsing: Self.offer), codecs: [[.vp8]]).agreement
        let isOpen = group.perform { [signals] loop in
            let peer = loop.add(agreement, at: "192.0.2.\(id)", delegate: signals)
            if peer?.id != id { signals.note("\(String(describing: peer?.id))", of: id) }
        }
        #expect(isOpen)
    }

    /// As of a sender that is started again: the number of a peer of the run before means no other one.
    @Test func theFirstNumberCanBeChosen() throws {
        let ice = ICEAgent.Configuration(addresses: ["127.0.0.1"])
        var configuration = PeerGroup.Configuration(Self.media(target), ice: ice)
        configuration.firstNumber = 701
        let group = try PeerGroup(configuration, suspends: nil)
        defer { group.close() }
        let agreement = try Negotiation(offer: SessionDescription(parsing: Self.offer), codecs: [[.vp8]]).agreement
        let isOpen = group.perform { [signals] loop in
            for _ in 0..<2 { _ = loop.add(agreement, at: "192.0.2.1", delegate: signals) }
        }
        #expect(isOpen)
        try wait(until: "both are there") { group.statuses.map(\.id) == [701, 702] }
    }

    @Test func theEndOfEachPeerIsToldOnceAndLast() throws {
        for number in 1...3 { try add(ParticipantID(number)) }
        try wait(until: "all have gathered") { (1...3).allSatisfy { !signals.all(of: ParticipantID($0)).isEmpty } }
        #expect(group.statuses.map(\.id) == [1, 2, 3])
        #expect(group.demand(for: Self.rendition.id, at: MonotonicClock.now()).isWanted)
        #expect(
            group.perform { loop in
                loop.close(loop.peer(2)!, .closedByPeer)
                // It is not there any more, also for whoever asks in the same round.
                if loop.peer(2) == nil { loop.close(loop.peer(3)!, .closed) }
            }
        )
        try wait(until: "two have left") { group.statuses.map(\.id) == [1] && !signals.all(of: 3).isEmpty }
        group.close()
        #expect(signals.all(of: 1) == ["gathered", "was disconnected"])
        #expect(signals.all(of: 2) == ["gathered", "left"])
        #expect(signals.all(of: 3) == ["gathered", "was disconnected"])
        #expect(!group.perform { _ in })
    }

    /// It is the sender's own: what is told of it changes with it, and no link bounds it.
    @Test func theTargetIsFollowedAtOnce() throws {
        defer { group.close() }
        try add(1)
        try wait(until: "its rendition is at work") { group.targetBitrates == [Self.rendition.id: 1_000_000] }
        for bitrate in [300_000, 2_000_000] {
            target.set(bitrate)
            #expect(group.targetBitrates == [Self.rendition.id: bitrate])
            #expect(group.demand(for: Self.rendition.id, at: MonotonicClock.now()).limit == nil)
        }
    }

    @Test func aSuspendIsTold() throws {
        try add(1)
        sleep.happen(for: .zero)
        for time in [Duration.seconds(3), .seconds(300)] {
            sleep.happen(for: time)
            try wait(until: "it is told") { sleeps.all.withLock { $0.last == time } }
        }
        group.close()
        let all = sleeps.all.withLock(\.self)
        #expect(all == [.seconds(3), .seconds(300)])
        #expect(signals.all(of: 1).last == "was disconnected")
    }

    /// What is asked of a group and what ends it may come in one round.
    @Test func nobodyIsForgottenAtTheEnd() throws {
        for number in 1...20 { try add(ParticipantID(number)) }
        group.close()
        for number in 1...20 { #expect(signals.all(of: ParticipantID(number)).last == "was disconnected") }
        #expect(!group.demand(for: Self.rendition.id, at: MonotonicClock.now()).isWanted)
        #expect(group.statuses.isEmpty)
    }
}
