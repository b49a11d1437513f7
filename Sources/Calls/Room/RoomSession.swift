package import Time

/// A member's side of a one-to-one room: joins, negotiates with the other member, and joins again after the connection was lost.
/// Sans-IO: after each call, do what `takeOutputs` says, and call `tick` when `nextDeadline` comes.
package struct RoomSession: Sendable {
    package enum Output: Sendable, Equatable {
        case emit(RoomEvent)
        case openPeer
        case closePeer
        /// Have the peer offer, and pass that on with `described`.
        case offer
        /// Have the peer answer an offer, and pass that on with `described`.
        case acceptOffer(sdp: String)
        case acceptAnswer(sdp: String)
        /// A line `candidate:…`, and of which media description.
        case addCandidate(line: String, mid: String?, index: Int?)
        /// What came does nothing, and why.
        case ignored(String)
        /// The last output.
        case ended(End)
    }

    package enum End: Sendable, Equatable {
        case left
        case full
        /// The server has let the member go without being asked.
        case sentAway
    }

    /// How far this side and the other one have come in describing themselves.
    private enum Negotiation {
        case none
        /// This side's offer is being made, or is on its way.
        case offering
        /// The other one's offer is being answered.
        case answering
        case settled
    }

    /// A server may hold the seat of a connection that was lost for as long as it waits for pings.
    private static let seatTimeout = Duration.seconds(45)
    private static let retryInterval = Duration.seconds(1)
    /// How long after the way to the other member was lost it is offered another one, if it is still there: the one who was there
    /// first offers earlier. Doubled each time.
    private static let (shortestPause, longestPause) = (Duration.seconds(1), Duration.seconds(30))
    /// Candidates that wait for the description that they belong to.
    private static let mostHeld = 64

    private let room: String
    private var state = RoomState.initial
    private var negotiation = Negotiation.none
    /// Whether the other member came later: then this side's offer goes before one of the other's.
    private var wasFirst = false
    private var held: [(line: String, mid: String?, index: Int?)] = []
    /// Of the other side's description.
    private var remoteFragment: String?
    /// Until when a full room may be so for this member's own old seat.
    private var seatHeldUntil: Instant?
    private var retryAt: Instant?
    private var offerAt: Instant?
    private var pause = Self.shortestPause
    private var isEnding = false
    private var outputs: [Output] = []

    package init(room: String) { self.room = room }

    /// Whether the other member is there.
    package var isConnected: Bool { state == .connected }
    package var nextDeadline: Instant? { earliest(retryAt, offerAt) }

    package mutating func takeOutputs() -> [Output] {
        defer { outputs = [] }
        return outputs
    }

    // MARK: - What happens

    /// The connection to the server stands.
    package mutating func connected() { change(.join) }

    /// The connection to the server is gone; the peer stays.
    package mutating func lost(now: Instant) {
        if state.isInRoom { seatHeldUntil = now + Self.seatTimeout }
        (retryAt, offerAt) = (nil, nil)
        change(.lost)
        if isEnding { outputs.append(.ended(.left)) }
    }

    /// The member leaves. `ended` follows when the server knows, or cannot be told.
    package mutating func leave() {
        isEnding = true
        if state.isInRoom { change(.leave) } else { outputs.append(.ended(.left)) }
    }

    package mutating func tick(now: Instant) {
        if let retryAt, retryAt <= now {
            self.retryAt = nil
            change(.join)
        }
        if let offerAt, offerAt <= now {
            self.offerAt = nil
            change(.otherJoined)
        }
    }

    package mutating func received(_ event: RoomEvent, now: Instant) {
        switch event {
        case .joined(room, _): change(.joined)
        case .otherJoined(room, _):
            wasFirst = true
            change(.otherJoined)
        case .bye(room, _): change(.bye)
        case .leaved(room, _):
            change(.leaved)
            outputs.append(.ended(isEnding ? .left : .sentAway))
        case .full(room, _): full(now: now)
        case .message(room, let data):
            guard let message = RoomMessage(data) else {
                return outputs.append(.ignored("a message that is no offer, answer or candidate"))
            }
            received(message)
        default: outputs.append(.ignored("an event of another room, or that no server sends"))
        }
    }

    /// The peer has made the offer or the answer that was asked for.
    package mutating func described(_ sdp: String) {
        switch negotiation {
        case .offering: emit(.offer(sdp: sdp))
        case .answering:
            negotiation = .settled
            emit(.answer(sdp: sdp))
        case .none, .settled: break
        }
    }

    /// The peer has found a candidate of its own.
    package mutating func found(line: String, mid: String, index: Int) {
        if state.isInRoom { emit(.candidate(line: line, mid: mid, index: index)) }
    }

    /// The peer has ended by itself: no path was found, or it is lost.
    package mutating func peerEnded(now: Instant) {
        change(.bye)
        guard state == .unbound else { return }
        offerAt = now + (wasFirst ? pause : pause * 2)
        pause = min(pause * 2, Self.longestPause)
    }

    /// The peer is connected.
    package mutating func peerConnected() { pause = Self.shortestPause }

    // MARK: - Rules

    private mutating func full(now: Instant) {
        change(.full)
        if isEnding { return outputs.append(.ended(.left)) }
        guard let seatHeldUntil, now < seatHeldUntil else { return outputs.append(.ended(.full)) }
        retryAt = now + Self.retryInterval
    }

    private mutating func received(_ message: RoomMessage) {
        switch (message, negotiation) {
        case (.offer, .offering) where wasFirst:
            outputs.append(.ignored("an offer while this side's own goes before it"))
        case (.offer(let sdp), _): change(.offer, sdp: sdp)
        case (.answer(let sdp), .offering): change(.answer, sdp: sdp)
        case (.answer, _): outputs.append(.ignored("an answer without an offer"))
        case (.candidate(let line, let mid, let index), _): received(line, mid, index)
        }
    }

    private mutating func received(_ line: String, _ mid: String?, _ index: Int?) {
        guard state.transition(on: .candidate) != nil else {
            return outputs.append(.ignored("a candidate while nobody is there"))
        }
        guard let remoteFragment else {
            if held.count < Self.mostHeld { held.append((line, mid, index)) }
            return
        }
        let words = line.split(separator: " ")
        if let place = words.firstIndex(of: "ufrag"), place + 1 < words.endIndex, words[place + 1] != remoteFragment {
            return outputs.append(.ignored("a candidate of an earlier description"))
        }
        // An empty line is the end of candidates.
        if !line.isEmpty { outputs.append(.addCandidate(line: line, mid: mid, index: index)) }
    }

    private mutating func change(_ event: RoomState.Event, sdp: String = "") {
        guard let (next, actions) = state.transition(on: event) else {
            return outputs.append(.ignored("\(event) while \(state)"))
        }
        let before = state
        state = next
        // Nobody is there, or whoever is has begun anew.
        offerAt = nil
        if event == .joined, !before.isInRoom { (wasFirst, seatHeldUntil, retryAt) = (false, nil, nil) }
        for action in actions { perform(action, sdp: sdp) }
    }

    private mutating func perform(_ action: RoomState.Action, sdp: String) {
        switch action {
        case .join: outputs.append(.emit(.join(room: room)))
        case .leave: outputs.append(.emit(.leave(room: room)))
        case .openPeer: outputs.append(.openPeer)
        case .closePeer: closePeer()
        case .offer:
            negotiation = .offering
            outputs.append(.offer)
        case .acceptOffer:
            // A new offer is a new peer: whatever was agreed before is over.
            if case .none = negotiation {
            } else {
                closePeer()
                outputs.append(.openPeer)
            }
            negotiation = .answering
            outputs.append(.acceptOffer(sdp: sdp))
            described(by: sdp)
        case .acceptAnswer:
            negotiation = .settled
            outputs.append(.acceptAnswer(sdp: sdp))
            described(by: sdp)
        case .addCandidate: break
        }
    }

    private mutating func closePeer() {
        (negotiation, remoteFragment, held) = (.none, nil, [])
        outputs.append(.closePeer)
    }

    /// The other side has described itself: what was held belongs to that, or is old.
    private mutating func described(by sdp: String) {
        remoteFragment = sdp.split(whereSeparator: \.isNewline).first { $0.hasPrefix("a=ice-ufrag:") }
            .map { String($0.dropFirst("a=ice-ufrag:".count)) }
        let candidates = held
        held = []
        for candidate in candidates { received(candidate.line, candidate.mid, candidate.index) }
    }

    private mutating func emit(_ message: RoomMessage) {
        outputs.append(.emit(.message(room: room, message.data)))
    }
}
