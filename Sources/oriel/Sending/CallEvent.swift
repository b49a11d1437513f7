import Calls
import Helpers
import Media
import Sender

/// Something that happens in the calls of a sender: a sentence for people, and a line of `--events` for programs.
struct CallEvent: Sendable {
    /// The kind of event, in the words of `--events`.
    enum Kind: String, Encodable, Sendable {
        case knocked, accepted, rejected
        case noAnswer = "no_answer"
        /// A viewer that knocked waits no more.
        case cancelled
        /// Somebody was turned away without a question.
        case refused
        /// The path to a viewer, or to the other member of a room, stands.
        case peerJoined = "peer_joined"
        case peerLeft = "peer_left"
        /// This side is in a call, or in it again.
        case callJoined = "call_joined"
        /// A call is lost for the moment, and tried again.
        case callLost = "call_lost"
        case callEnded = "call_ended"
        /// A peer asks to speak, may, or may not any more.
        case talkAsked = "talk_asked"
        case talkGranted = "talk_granted"
        case talkRevoked = "talk_revoked"
        /// A peer is heard, or has fallen silent.
        case talkStarted = "talk_started"
        case talkEnded = "talk_ended"
        /// The broadcast is paused, goes on, or has trouble.
        case broadcast
        /// A microphone is heard, or not any more.
        case microphone
        /// A STUN or TURN server does not work, or works again.
        case server
        /// The process that reads renewed files has ended.
        case renewalEnded = "renewal_ended"
    }

    enum Microphone: String, Sendable { case live, off }

    /// Nil for an event that goes only to standard error.
    var kind: Kind?
    /// The call, as the command line names it; nil for an event of all calls.
    var call: String?
    /// The sentence for standard error; nil for none.
    var sentence: String?
    /// The number of the viewer, or of the knock: each counts by itself.
    var id: Int?
    /// The name that a viewer or member gives itself; of a microphone, its name.
    var name: String?
    var note: String?
    var address: String?
    var codec: VideoCodec?
    var reason: EndReason?
    var condition: BroadcastCondition?
    var microphone: Microphone?
    /// The name of a STUN or TURN server.
    var server: String?
    var serverState: SenderStatus.Server.State?
    /// The paths of files that are no longer read again.
    var files: [String]?
}

extension CallEvent {
    init(_ condition: BroadcastCondition) { self.init(kind: .broadcast, condition: condition) }

    init(_ end: NamedFiles.End) { self.init(kind: .renewalEnded, sentence: end.sentence, files: end.files) }

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
        switch event {
        case .knocked(let knock): self.init(.knocked, knock, "\(event)")
        case .answered(let knock, .accepted): self.init(.accepted, knock, "\(event)")
        case .answered(let knock, .rejected): self.init(.rejected, knock, "\(event)")
        case .answered(let knock, .noAnswer): self.init(.noAnswer, knock, "\(event)")
        case .answered(let knock, .cancelled): self.init(.cancelled, knock, "\(event)")
        case .turnedAway(let address, let call):
            self.init(kind: .refused, call: call, sentence: "\(event)", address: address, reason: .busy)
        }
    }

    private init(_ kind: Kind, _ knock: Knocks.Knock, _ sentence: String) {
        self.init(
            kind: kind,
            call: knock.call,
            sentence: sentence,
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
        case .turnedAway(let address, let name, let refusal):
            (kind, self.address, self.name) = (.refused, address, name.isEmpty ? nil : name)
            reason = refusal == .noRelay ? .noRelay : .busy
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
        case .peerCame(let number, let codec): (kind, id, self.codec) = (.peerJoined, number, codec)
        case .peerLeft(let number, _, let reason): (kind, id, self.reason) = (.peerLeft, number, reason)
        case .turnedAway: (kind, reason) = (.refused, .busy)
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
