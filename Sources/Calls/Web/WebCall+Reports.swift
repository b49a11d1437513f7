import Access
import Media
import WebRTC

extension WebCall {
    /// Somebody who looks in, for people and programs.
    struct Viewer: Sendable {
        let id: ParticipantID
        let address: String
        /// What it said of itself; empty if it did not.
        let name: String
    }
}

extension WebCall.Viewer {
    fileprivate var description: String { "viewer \(id)" + (name.isEmpty ? "" : " (\"\(name)\")") }

    fileprivate var participant: CallReport.Participant { .init(id, name: name, address: address) }
}

extension CallReport {
    /// - Parameter codec: of the picture; nil for one that only listens.
    static func joined(_ viewer: WebCall.Viewer, _ codec: VideoCodec?) -> CallReport {
        let deed = codec == nil ? "listens" : "looks in"
        let place = viewer.address + (codec.map { ", \($0.rawValue)" } ?? "")
        return CallReport(.joined(viewer.participant, codec), "\(viewer.description) \(deed) from \(place)")
    }

    static func left(_ viewer: WebCall.Viewer, _ end: PeerSession.End, _ reason: EndReason) -> CallReport {
        CallReport(.left(viewer.participant, reason), "\(viewer.description) from \(viewer.address) \(end)")
    }

    /// Tells of a viewer that was turned away, as all places are taken or there is no relay.
    static func turnedAway(from address: String, _ name: String, _ refusal: Refusal) -> CallReport {
        CallReport(
            .refused(Participant(nil, name: name, address: address), refusal == .noRelay ? .noRelay : .busy),
            "\(Knock.who(name: name, note: "", address: address)) was turned away: \(refusal)"
        )
    }
}
