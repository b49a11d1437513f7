import Calls
import Media
import Posix
import RTP
import Sender
import WebRTC

/// What a running sender does for commands. Any thread may ask.
struct SenderCommands: Sendable {
    private let calls: [String]
    private let web: WebCall?

    /// - Parameters:
    ///   - calls: by their names on the command line.
    ///   - web: the one of them that has viewers.
    init(_ calls: [String], web: WebCall?) {
        self.calls = calls
        self.web = web
    }

    func answer(_ request: SenderRequest) -> SenderAnswer {
        switch request {
        case .status:
            let now: UInt64 = MonotonicClock.now()
            let viewers = (web?.viewers ?? []).map { SenderStatus.Viewer($0, now: now) }
            return .status(SenderStatus(calls: calls, bitrateBps: 0, viewers: viewers))
        case .kick(let number):
            guard let web else { return .refused("nobody can be sent away from \(calls.joined(separator: ", "))") }
            return web.kick(number) ? .done : .refused("no viewer \(number) looks in")
        case .setBitrate: return .refused("not yet")
        }
    }
}

extension SenderStatus.Viewer {
    fileprivate init(_ status: ViewerStatus, now: UInt64) {
        let statistics = status.statistics
        self.init(
            id: status.number,
            address: status.address,
            sinceS: milliseconds(from: status.since, to: now) / 1000,
            codec: status.codec.rawValue.lowercased(),
            state: status.isConnected ? "connected" : "connecting",
            bitrateBps: status.bitrate,
            rttMs: statistics.roundTripTime.map { milliseconds(from: 0, to: $0) },
            lossRatio: statistics.lossFraction,
            framesSent: statistics.frames,
            nacks: statistics.nacks,
            plis: statistics.keyframeRequests,
            srtp: status.profile?.name,
            path: status.path.map { "\($0.local.rawValue)-\($0.remote.rawValue)" }
        )
    }
}
