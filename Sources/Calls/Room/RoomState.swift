/// Where a member of a one-to-one room stands, and what may happen there: the table that clients and the server share.
///
/// Whoever was there first offers when another one joins; the newcomer answers.
package enum RoomState: Sendable, CaseIterable {
    /// Never was in the room.
    case initial
    /// Was there, or was not let in.
    case leaved
    /// Is there, alone, or the other one has not offered yet.
    case joined
    /// Has offered, or answered.
    case connected
    /// The other one is gone.
    case unbound
    /// Was there when the server was lost, and still has its peer: the two need no server until one of them comes or goes.
    case away
    /// Has said that it leaves: what is still under way for it does nothing.
    case leaving

    package enum Event: Sendable, CaseIterable {
        // By the member.
        case join, leave
        // By the server.
        case joined, leaved, full, otherJoined, bye
        /// The connection to the server is gone.
        case lost
        // By the other member, as messages.
        case offer, answer, candidate
    }

    package enum Action: Sendable {
        /// Tells the server.
        case join, leave
        case openPeer, closePeer
        case offer
        /// Takes the other one's offer, and answers.
        case acceptOffer
        case acceptAnswer
        case addCandidate
    }

    package var isInRoom: Bool {
        switch self {
        case .joined, .connected, .unbound, .leaving: true
        case .initial, .leaved, .away: false
        }
    }

    /// What an event leads to; nil for one that the state does not allow: it does nothing.
    package func transition(on event: Event) -> (next: RoomState, actions: [Action])? {
        switch (self, event) {
        case (.initial, .join), (.leaved, .join), (.away, .join): (self, [.join])
        case (.initial, .joined), (.leaved, .joined): (.joined, [.openPeer])
        case (.away, .joined): (.joined, [.closePeer, .openPeer])
        // A server that counts a member twice says so again.
        case (.joined, .joined), (.connected, .joined), (.unbound, .joined): (self, [])

        case (.joined, .otherJoined): (.connected, [.offer])
        case (.unbound, .otherJoined): (.connected, [.openPeer, .offer])
        // The other one has come back without a goodbye.
        case (.connected, .otherJoined): (.connected, [.closePeer, .openPeer, .offer])

        case (.joined, .offer): (.connected, [.acceptOffer])
        case (.unbound, .offer): (.connected, [.openPeer, .acceptOffer])
        case (.connected, .offer): (.connected, [.acceptOffer])
        case (.connected, .answer): (.connected, [.acceptAnswer])
        case (.joined, .candidate), (.connected, .candidate): (self, [.addCandidate])

        case (.joined, .bye), (.connected, .bye): (.unbound, [.closePeer])
        // Its peer has ended before it left the room.
        case (.unbound, .bye): (.unbound, [])

        case (.joined, .leave), (.connected, .leave): (.leaving, [.leave, .closePeer])
        case (.unbound, .leave): (.leaving, [.leave])
        case (.joined, .leaved), (.connected, .leaved), (.joined, .full), (.connected, .full): (.leaved, [.closePeer])
        case (.joined, .lost), (.connected, .lost), (.away, .lost), (.away, .full): (.away, [])
        case (.away, .bye), (.away, .leaved): (.leaved, [.closePeer])
        case (_, .leaved), (_, .full), (_, .lost): (.leaved, [])
        default: nil
        }
    }
}
