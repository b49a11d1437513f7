import Access
import Media

extension CallReport.Participant {
    fileprivate init(_ viewer: Participant) { self.init(id: viewer.id, name: viewer.name, address: viewer.place) }
}

extension Participant {
    fileprivate var viewer: String { "viewer \(id)" + (name.isEmpty ? "" : " (\"\(name)\")") }
}

extension CallReport {
    /// - Parameter codec: of the picture; nil for one that only listens.
    static func joined(_ viewer: Calls.Participant, _ codec: VideoCodec?) -> CallReport {
        let deed = codec == nil ? "listens" : "looks in"
        let place = viewer.place + (codec.map { ", \($0.rawValue)" } ?? "")
        return CallReport(.joined(Participant(viewer), codec), "\(viewer.viewer) \(deed) from \(place)")
    }

    static func left(_ viewer: Calls.Participant, _ why: String, _ reason: EndReason) -> CallReport {
        CallReport(.left(Participant(viewer), reason), "\(viewer.viewer) from \(viewer.place) \(why)")
    }

    /// A viewer was turned away, as all places are taken or there is no relay.
    static func turnedAway(from address: String, _ name: String, _ refusal: Refusal) -> CallReport {
        CallReport(
            .refused(Participant(name: name, address: address), refusal == .noRelay ? .noRelay : .busy),
            "\(Knock.who(name: name, note: "", address: address)) was turned away: \(refusal)"
        )
    }
}
