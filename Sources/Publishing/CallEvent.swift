import Access
import Calls
import Control
import Helpers
import Media
import Motion

/// Something that happens in the calls of a sender: a sentence for people, and a line of `--events` for programs.
package struct CallEvent: Encodable, Sendable {
    private enum CodingKeys: String, CodingKey {
        case kind = "event"
        case sentence = "text"
        case time, call, id, name, note, parameters, address, codec, reason, state, server, files
    }

    /// In the words of `--events`.
    package enum Kind: String, Encodable, Sendable {
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
        /// A viewer has to go soon, unless it asks for more time.
        case leaseEnding = "lease_ending"
        /// The broadcast is paused, goes on, or has trouble.
        case broadcast
        /// A microphone is heard, or not any more.
        case microphone
        /// A STUN or TURN server does not work, or works again.
        case server
        /// The process that reads renewed files has ended.
        case renewalEnded = "renewal_ended"
        /// Somebody has given a command.
        case commanded
        case clipBegun = "clip_begun"
        case clipEnded = "clip_ended"
    }

    var time: String?
    /// Nil for an event that goes only to standard error.
    package var kind: Kind?
    /// The call, as the command line names it; nil for an event of all calls.
    var call: String?
    var sentence: String?
    /// The number of the viewer, the knock or the clip: each counts by itself.
    package var id: Int?
    /// The name that a viewer or member gives itself; of a microphone, its name.
    package var name: String?
    /// Of a viewer that knocks; the text of a message.
    var note: String?
    /// Of a message for a program.
    var parameters: [String: String]?
    var address: String?
    var codec: String?
    var reason: EndReason?
    /// Of the broadcast, the microphone or the server; why a clip began or ended.
    package var state: String?
    /// A STUN or TURN server.
    var server: String?
    /// The paths of files that are no longer read again, or of a clip.
    package var files: [String]?
}

extension CallEvent {
    /// For people alone, unless it gets a kind.
    package init(sentence: String) { self.init(kind: nil, sentence: sentence) }

    /// A command of a viewer was done, or of the person who shares.
    init(_ command: ViewerCommand, of viewer: Participant?) {
        let who = viewer.map { "viewer \($0.id)" + ($0.name.isEmpty ? "" : " (\"\($0.name)\")") }
        let (state, deed): (String, String) =
            switch command {
            case .viewport(let part?): ("viewport \(part)", "shows the part \(part) of the screen")
            case .viewport(nil): ("viewport off", "shows the whole screen")
            case .legibility(let legibility): ("legibility \(legibility)", "sets the legibility to \(legibility)")
            case .source(let name): ("source \(name)", "shows the source \"\(name)\"")
            case .highlight(let ring): ("highlight \(ring)", "points at \(ring)")
            case .message(let text): ("message", "says: \(text)")
            case .service(let message): ("service \(message.text)", "sends the message \(message.text)")
            case .chime(let chime): ("chime \(chime)", "gives the command chime \(chime)")
            case .statusFrame(let frame): ("status_frame \(frame)", "sets the frame to \(frame)")
            }
        self.init(
            kind: .commanded,
            call: viewer?.call,
            sentence: who.map { "\($0) \(deed)" },
            id: viewer?.id.number,
            name: viewer.flatMap { $0.name.isEmpty ? nil : $0.name },
            state: state
        )
        if case .message(let text) = command { note = "\(text)" }
        if case .service(let message) = command, !message.parameters.isEmpty { parameters = message.parameters }
    }

    init(_ condition: BroadcastCondition) { self.init(kind: .broadcast, state: condition.rawValue) }

    init(_ end: NamedFiles.End) { self.init(kind: .renewalEnded, sentence: end.sentence, files: end.files) }

    init(_ report: CallReport, in call: CallPlan) {
        self.init(call: "\(call)", sentence: report.sentence)
        switch report.event {
        case .standing(let codec): (kind, self.codec) = (.callJoined, codec?.rawValue.lowercased())
        case .away(_, isNews: true): (kind, reason) = (.callLost, .lost)
        case .clipBegan(let number, let cause): (kind, id, state) = (.clipBegun, number, cause.rawValue)
        case .clipEnded(let number, let end): (kind, id, state) = (.clipEnded, number, end.rawValue)
        case .away, .remark: break
        case .joined(let participant, let codec):
            (kind, self.codec) = (.peerJoined, codec?.rawValue.lowercased())
            note(participant)
        case .left(let participant, let reason):
            (kind, self.reason) = (.peerLeft, reason)
            note(participant)
        case .refused(let participant, let reason):
            (kind, self.reason) = (.refused, reason)
            note(participant)
        case .ended(let end): (kind, reason) = (.callEnded, end?.reason ?? .ended)
        }
    }

    private mutating func note(_ participant: CallReport.Participant) {
        (id, address) = (participant.id?.number, participant.address)
        name = participant.name.isEmpty ? nil : participant.name
    }

    /// - Parameters:
    ///   - call: that of a participant, as people name it; nil if it has just gone.
    ///   - name: what that participant says of itself; may be empty.
    init(_ event: AccessEvent, in call: String? = nil, name: String = "") {
        switch event {
        case .knocked(let knock): self.init(.knocked, knock, event.sentence)
        case .answered(let knock, let answer): self.init(Kind(rawValue: answer.rawValue), knock, event.sentence)
        case .turnedAway(let address, let call):
            self.init(kind: .refused, call: call, sentence: event.sentence, address: address, reason: .busy)
        case .talk(let id, let talk): self.init(talk, of: id, in: call, name: name)
        case .leaseEnding(let id):
            self.init(kind: .leaseEnding, call: call, id: id.number, name: name.isEmpty ? nil : name)
        }
    }

    private init(_ talk: AccessEvent.Talk, of id: ParticipantID, in call: String?, name: String) {
        let who =
            (call.map { $0 == "web" ? "" : "\($0): " } ?? "")
            + "viewer \(id)" + (name.isEmpty ? "" : " (\"\(name)\")")
        let (kind, sentence): (Kind, String?) =
            switch talk {
            case .asked: (.talkAsked, "\(who) asks to speak: \"oriel talk \(id) on\" lets it")
            case .granted: (.talkGranted, "\(who) may speak")
            case .revoked: (.talkRevoked, "\(who) may not speak")
            case .started(isNews: true): (.talkStarted, "\(who) speaks")
            case .started: (.talkStarted, nil)
            case .ended: (.talkEnded, nil)
            }
        self.init(kind: kind, call: call, sentence: sentence, id: id.number, name: name.isEmpty ? nil : name)
    }

    private init(_ kind: Kind?, _ knock: Knock, _ sentence: String?) {
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
}
