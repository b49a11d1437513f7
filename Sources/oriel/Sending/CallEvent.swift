import Calls
import Media

/// Something that happens in the calls of a sender: a sentence for people, and a line of `--events` for programs.
struct CallEvent: Sendable {
    /// What happens, as programs are told.
    enum Kind: String, Encodable, Sendable {
        case knocked, accepted, rejected
        case noAnswer = "no_answer"
        /// Who knocked waits no more.
        case cancelled
        /// The path to a viewer, or to the other member of a room, stands.
        case peerJoined = "peer_joined"
        case peerLeft = "peer_left"
        /// This side is in a call, or in it again.
        case callJoined = "call_joined"
        /// A call is lost for the moment, and tried again.
        case callLost = "call_lost"
        case callEnded = "call_ended"
        /// The broadcast is paused, goes on, or has trouble.
        case broadcast
    }

    /// Nil for what is told to people alone.
    var kind: Kind?
    /// The call, as the command line names it; nil for what concerns all.
    var call: String?
    /// What people are told; nil for what they see otherwise.
    var sentence: String?
    /// Number of the viewer, or of the one who knocks: each counts by itself.
    var id: Int?
    /// What somebody says of itself.
    var name: String?
    var note: String?
    var address: String?
    var codec: VideoCodec?
    var reason: EndReason?
    var condition: BroadcastCondition?
}

extension CallEvent {
    init(_ condition: BroadcastCondition) { self.init(kind: .broadcast, condition: condition) }

    /// A call begins.
    static func joined(_ call: Call, sentence: String? = nil) -> CallEvent {
        CallEvent(kind: .callJoined, call: "\(call)", sentence: sentence)
    }

    /// A call is over.
    ///
    /// - Parameters:
    ///   - end: nil if this side left.
    ///   - isTold: whether people hear of it by this event.
    static func ended(_ call: Call, _ end: CallEnd? = nil, isTold: Bool = true) -> CallEvent {
        CallEvent(
            kind: .callEnded,
            call: "\(call)",
            sentence: isTold ? end.map { "\($0)" } : nil,
            reason: end?.reason ?? .ended
        )
    }

    init(_ event: Lobby.Event) {
        let (kind, knock): (Kind, Knocks.Knock) =
            switch event {
            case .knocked(let knock): (.knocked, knock)
            case .answered(let knock, .accepted): (.accepted, knock)
            case .answered(let knock, .rejected): (.rejected, knock)
            case .answered(let knock, .noAnswer): (.noAnswer, knock)
            case .answered(let knock, .cancelled): (.cancelled, knock)
            }
        self.init(
            kind: kind,
            call: knock.call,
            sentence: "\(event)",
            id: knock.number,
            name: knock.name,
            note: knock.note,
            address: knock.address
        )
    }

    init(_ event: WebCall.Event, in call: Call) {
        self.init(call: "\(call)", sentence: "\(event)")
        switch event {
        case .joined(let viewer, let codec):
            (kind, self.codec) = (.peerJoined, codec)
            note(viewer)
        case .left(let viewer, _, let reason):
            (kind, self.reason) = (.peerLeft, reason)
            note(viewer)
        }
    }

    private mutating func note(_ viewer: WebCall.Viewer) {
        (id, address, name) = (viewer.number, viewer.address, viewer.name.isEmpty ? nil : viewer.name)
    }

    init(_ event: RoomCall.Event, in call: Call) {
        self.init(call: "\(call)", sentence: "\(call): \(event)")
        switch event {
        case .lost: (kind, reason) = (.callLost, .lost)
        case .joined: kind = .callJoined
        case .peerCame(let codec): (kind, self.codec) = (.peerJoined, codec)
        case .peerLeft(_, let reason): (kind, self.reason) = (.peerLeft, reason)
        case .ignored, .pointless, .waiting: break
        }
    }

    init(_ event: WHIPCall.Event, in call: Call) {
        self.init(call: "\(call)", sentence: "\(call): \(event)")
        switch event {
        case .connected(let codec): (kind, self.codec) = (.callJoined, codec)
        case .retrying: (kind, reason) = (.callLost, .lost)
        case .failing, .unusable: break
        }
    }

    init(_ event: JanusCall.Event, in call: Call) {
        self.init(call: "\(call)", sentence: "\(call): \(event)")
        switch event {
        case .connected(let codec): (kind, self.codec) = (.callJoined, codec)
        case .retrying: (kind, reason) = (.callLost, .lost)
        case .resumed: kind = .callJoined
        }
    }
}
