package import Access
package import Control
package import Media
package import Peers
import Synchronization
package import Time

/// Somebody at the other end of a call: a viewer, the other member of a room, or a media server.
package struct Participant: Sendable {
    package let id: ParticipantID
    /// The call, as people name it.
    package let call: String
    /// The name that it gives itself; may be empty.
    package var name = ""
    /// The origin of its signalling, for people. The media may take another path.
    package let place: String
    package let since: Instant
    /// Sends it away for a reason; nil for a server, which is left instead.
    package var kick: (@Sendable (EndReason) -> Void)?
}

/// The participants of all calls of a sender, each from the round of the network thread that makes its peer until the peer has ended. Any
/// thread may ask.
package final class Participants: Sendable {
    private let all = Mutex<[ParticipantID: Participant]>([:])

    init() {}

    package var count: Int { all.withLock(\.count) }

    package subscript(_ id: ParticipantID) -> Participant? { all.withLock { $0[id] } }

    /// Sends a participant away, and all others with its key, such as another window of its browser.
    ///
    /// - Returns: the guest that it was; it must knock from now on.
    package func kick(_ id: ParticipantID, by access: AccessControl) -> Guest? {
        // This comes first: a guest that returns at once must knock.
        let (guest, ids) = access.change { engine, _ in engine.sendAway(id) }
        for id in ids { self[id]?.kick?(.kicked) }
        return guest
    }

    fileprivate func add(_ participant: Participant) { all.withLock { $0[participant.id] = participant } }

    fileprivate func remove(_ id: ParticipantID) { all.withLock { $0[id] = nil } }
}

/// On the network thread.
extension CallHost {
    /// Adds a participant, in the round that makes its peer.
    func begin(_ participant: Participant, canSpeak: Bool, guest: GuestKey?, by link: AccessEngine.Link) {
        access.change { engine, now in
            engine.begin(participant.id, canSpeak: canSpeak, guest: guest, by: link)
            engine.noteRequest(of: participant.id, at: now)
        }
        network.participants.add(participant)
    }

    /// Removes a participant, as soon as no event needs its name.
    func end(_ id: ParticipantID) {
        access.end(id) { [participants = network.participants] in participants.remove(id) }
    }
}

extension ViewerSnapshot.Participant {
    package mutating func note(leaseEnd: Instant?, at now: Instant) {
        leaseS = leaseEnd.map { max(0, milliseconds($0 - now) / 1000) }
    }
}

extension ViewerSnapshot {
    /// - Parameter target: of its encoder, in bits a second; nil if that has not begun.
    package init(_ someone: Calls.Participant, _ status: PeerStatus, target: Int?, at now: Instant) {
        self.init()
        participant.id = someone.id
        participant.call = someone.call
        participant.address = someone.place
        participant.name = someone.name.isEmpty ? nil : someone.name
        participant.sinceS = milliseconds(now - someone.since) / 1000
        participant.state = status.isConnected ? "connected" : "connecting"
        peer = status.snapshot
        peer.link.targetBps = target
    }
}
