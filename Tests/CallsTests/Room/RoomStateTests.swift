import Testing

@testable import Calls

@Suite struct RoomStateTests {
    /// The table of one-to-one rooms as their public programs have it; what is not here is not allowed.
    private static let table: [RoomState: [RoomState.Event: (RoomState, [RoomState.Action])]] = [
        .initial: [
            .join: (.initial, [.join]), .joined: (.joined, []), .leaved: (.leaved, []), .full: (.leaved, []),
            .lost: (.leaved, []),
        ],
        .leaved: [
            .join: (.leaved, [.join]), .joined: (.joined, []), .leaved: (.leaved, []), .full: (.leaved, []),
            .lost: (.leaved, []),
        ],
        .joined: [
            .joined: (.joined, []), .otherJoined: (.connected, [.offer]), .offer: (.connected, [.acceptOffer]),
            .candidate: (.joined, []), .bye: (.unbound, [.closePeer]),
            .leave: (.leaving, [.leave, .closePeer]), .leaved: (.leaved, [.closePeer]), .full: (.leaved, [.closePeer]),
            .lost: (.away, []),
        ],
        .connected: [
            .joined: (.connected, []), .otherJoined: (.connected, [.closePeer, .offer]),
            .offer: (.connected, [.acceptOffer]), .answer: (.connected, [.acceptAnswer]),
            .candidate: (.connected, []), .bye: (.unbound, [.closePeer]),
            .leave: (.leaving, [.leave, .closePeer]), .leaved: (.leaved, [.closePeer]),
            .full: (.leaved, [.closePeer]), .lost: (.away, []),
        ],
        .away: [
            .join: (.away, [.join]), .joined: (.joined, [.closePeer]), .bye: (.leaved, [.closePeer]),
            .leaved: (.leaved, [.closePeer]), .full: (.away, []), .lost: (.away, []),
        ],
        .unbound: [
            .joined: (.unbound, []), .bye: (.unbound, []), .otherJoined: (.connected, [.offer]),
            .offer: (.connected, [.acceptOffer]), .leave: (.leaving, [.leave]), .leaved: (.leaved, []),
            .full: (.leaved, []), .lost: (.leaved, []),
        ],
        .leaving: [.leaved: (.leaved, []), .full: (.leaved, []), .lost: (.leaved, [])],
    ]

    @Test func allOfTheTable() {
        for state in RoomState.allCases {
            for event in RoomState.Event.allCases {
                let transition = state.transition(on: event)
                let due = Self.table[state]?[event]
                #expect(transition?.next == due?.0, "\(state) \(event)")
                #expect(transition?.actions == due?.1, "\(state) \(event)")
            }
        }
    }

    /// Whatever happens, a member makes an offer only where it has no peer, and takes an answer only where it has one; and who is
    /// alone in a room has none that goes on.
    @Test func peersAreMadeAndClosedInTurn() {
        var seen: Set<String> = []
        var rest: [(RoomState, Bool)] = [(.initial, false)]
        while let (state, hasPeer) = rest.popLast() {
            guard seen.insert("\(state) \(hasPeer)").inserted else { continue }
            for event in RoomState.Event.allCases {
                guard let (next, actions) = state.transition(on: event) else { continue }
                var isOpen = hasPeer
                for action in actions {
                    switch action {
                    case .offer:
                        #expect(!isOpen, "\(state) \(event)")
                        isOpen = true
                    // It takes the place of the one before.
                    case .acceptOffer: isOpen = true
                    case .closePeer: isOpen = false
                    case .acceptAnswer: #expect(isOpen, "\(state) \(event)")
                    case .join, .leave: break
                    }
                }
                #expect(next == .away || isOpen == (next == .connected), "\(state) \(event)")
                rest.append((next, isOpen))
            }
        }
        // Away, it may have a peer or none.
        #expect(seen.count == RoomState.allCases.count + 1)
    }
}
