/// The state of a member of a one-to-one room, with its transitions: the table of its clients. When a member joins, the one that was there
/// offers, and the newcomer answers.
package enum RoomState: Sendable, CaseIterable {
    /// The member was never in the room.
    case initial
    /// It was there, or was not let in.
    case leaved
    /// It is there, alone or before an offer of the other one.
    case joined
    /// It has offered, or answered.
    case connected
    /// The other one is gone.
    case unbound
    /// The server is lost, and the peer is kept: the two need no server until one of them comes or goes.
    case away
    /// It has said that it leaves. Events that are still under way do nothing.
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
        /// Closes the peer if there is one.
        case closePeer
        /// Makes a peer, and offers.
        case offer
        /// Makes a peer that takes the offer, and answers.
        case acceptOffer
        case acceptAnswer
    }

    package var isInRoom: Bool {
        switch self {
        case .joined, .connected, .unbound, .leaving: true
        case .initial, .leaved, .away: false
        }
    }

    /// The next state after an event; nil for an event without an effect.
    package func transition(on event: Event) -> (next: RoomState, actions: [Action])? {
        switch (self, event) {
        case (.initial, .join), (.leaved, .join), (.away, .join): (self, [.join])
        case (.initial, .joined), (.leaved, .joined): (.joined, [])
        case (.away, .joined): (.joined, [.closePeer])
        // A server that counts a member twice says so again.
        case (.joined, .joined), (.connected, .joined), (.unbound, .joined): (self, [])

        case (.joined, .otherJoined), (.unbound, .otherJoined): (.connected, [.offer])
        // The other one has come back without a goodbye.
        case (.connected, .otherJoined): (.connected, [.closePeer, .offer])

        case (.joined, .offer), (.unbound, .offer), (.connected, .offer): (.connected, [.acceptOffer])
        case (.connected, .answer): (.connected, [.acceptAnswer])
        case (.joined, .candidate), (.connected, .candidate): (self, [])

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
