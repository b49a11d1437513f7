import Calls
import Media
import Peers
import Synchronization
import Talk

/// Tells who of a sender's peers asks to speak, may, and does.
final class TalkEvents: Sendable {
    private struct Listeners {
        var calls: SenderCalls?
        var status: WebStatus?
    }

    private let events: EventLog
    private let listeners = Mutex(Listeners())

    init(_ events: EventLog) { self.events = events }

    /// Tells the pages of viewers too from now on, and people in which calls peers are, and their names.
    func follow(_ calls: SenderCalls, _ status: WebStatus) {
        listeners.withLock { $0 = Listeners(calls: calls, status: status) }
    }

    func tell(_ event: Talkers.Event) {
        let (calls, status) = listeners.withLock { ($0.calls, $0.status) }
        let call = calls?.peers?.statuses.first { $0.id == event.peer }?.call
        events.tell(CallEvent(event, in: call, name: calls?.participant(event.peer)?.name ?? ""))
        switch event {
        case .asked, .granted, .revoked: status?.noteTalk()
        case .started, .ended: break
        }
    }
}

extension Talkers.Event {
    var peer: ParticipantID {
        switch self {
        case .asked(let peer), .granted(let peer), .revoked(let peer), .started(let peer, _), .ended(let peer): peer
        }
    }
}

extension CallEvent {
    /// - Parameters:
    ///   - call: as people name it; nil if the peer has just gone.
    ///   - name: what the peer says of itself; may be empty.
    init(_ event: Talkers.Event, in call: String?, name: String) {
        let id = event.peer
        let who =
            (call.map { $0 == "web" ? "" : "\($0): " } ?? "")
            + "viewer \(id)" + (name.isEmpty ? "" : " (\"\(name)\")")
        let (kind, sentence): (Kind, String?) =
            switch event {
            case .asked: (.talkAsked, "\(who) asks to speak: \"oriel talk \(id) on\" lets it")
            case .granted: (.talkGranted, "\(who) may speak")
            case .revoked: (.talkRevoked, "\(who) may not speak")
            case .started(_, isNews: true): (.talkStarted, "\(who) speaks")
            case .started: (.talkStarted, nil)
            case .ended: (.talkEnded, nil)
            }
        self.init(kind: kind, call: call, sentence: sentence, id: id.number, name: name.isEmpty ? nil : name)
    }
}
