import Calls
import Media
import Peers
import Posix
import RTP
import Sender
import Synchronization
import Time
import WebRTC

/// Does what commands ask of a running sender. Any thread may ask.
final class SenderCommands: Sendable {
    /// The calls, as the command line names them.
    let calls: [String]
    let plain: [PlainRTPCall]
    let peers: PeerGroup?
    let web: WebCall?
    private let bitrate: Atomic<Int>

    /// - Parameter bitrate: the encoders' target, in bits a second.
    init(_ calls: [String], plain: [PlainRTPCall], peers: PeerGroup?, web: WebCall?, bitrate: Int) {
        self.calls = calls
        self.plain = plain
        self.peers = peers
        self.web = web
        self.bitrate = Atomic(bitrate)
    }

    func reply(to request: SenderRequest) -> SenderReply {
        switch request {
        case .status:
            let now: Instant = MonotonicClock.now()
            let viewers = (peers?.statuses ?? []).map { SenderStatus.Viewer($0, now: now) }
            let bitrate = bitrate.load(ordering: .relaxed)
            return .status(report: SenderStatus(calls: calls, bitrateBps: bitrate, viewers: viewers))
        case .kick(let number):
            guard let web else {
                return .refused(reason: "nobody can be sent away from \(calls.joined(separator: ", "))")
            }
            return web.kick(number) ? .done : .refused(reason: "no viewer \(number) looks in")
        case .setBitrate(let bitrate):
            guard Bitrate.range ~= bitrate else { return .refused(reason: "\(bitrate) bits a second are out of range") }
            for call in plain { call.setTargetBitrate(UInt64(bitrate)) }
            peers?.setTargetBitrate(bitrate)
            self.bitrate.store(bitrate, ordering: .relaxed)
            return .done
        }
    }
}

extension SenderStatus.Viewer {
    fileprivate init(_ status: PeerStatus, now: Instant) {
        let statistics = status.statistics
        self.init()
        id = status.number
        address = status.address
        sinceS = milliseconds(now - status.since) / 1000
        codec = status.codec.rawValue.lowercased()
        state = status.isConnected ? "connected" : "connecting"
        bitrateBps = status.bitrate
        rttMs = status.roundTripTime.map { milliseconds($0) }
        lossRatio = statistics.lossFraction
        framesSent = statistics.frames
        nacks = statistics.nacks
        plis = statistics.keyframeRequests
        srtp = status.profile?.name
        path = status.path.map { "\($0.local.rawValue)-\($0.remote.rawValue)" }
    }
}
