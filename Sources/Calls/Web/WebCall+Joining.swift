package import Access
import Media
import Peers
import Posix
import RTP
import Synchronization
import Time
import WebRTC

/// The coming of viewers: offers, places and limits.
extension WebCall {
    /// A viewer that has a place and no peer yet.
    private struct Newcomer: Sendable {
        let id: String
        let other: PeerConnection.Other
        let negotiation: Negotiation
        let completion: @Sendable (Result<Admission, Refusal>) -> Void
    }

    /// Answers an offer, or refuses. The completion is called once, on any thread.
    ///
    /// - Parameters:
    ///   - name: the viewer's own name; may be empty.
    ///   - key: identifies it later; nil if nothing does.
    ///   - trickles: whether it asks for candidates that are found after the answer.
    package func join(
        offer: String,
        from address: String,
        name: String = "",
        key: GuestKey? = nil,
        trickles: Bool = false,
        completion: @escaping @Sendable (Result<Admission, Refusal>) -> Void
    ) {
        var viewer = PeerConnection.Other(place: address, name: name, guest: key, trickles: trickles)
        viewer.admit = { [access] count in access.atGate { $0.admit(count, of: address, now: $1) } }
        viewer.kick = { $0.close(as: .kicked) }
        perform(for: viewer, orRefuse: completion) { [self, viewer] loop throws(Refusal) in
            try admit(viewer, offering: offer, in: loop, completion)
        }
    }

    private func admit(
        _ viewer: PeerConnection.Other,
        offering offer: String,
        in loop: PeerLoop,
        _ completion: @escaping @Sendable (Result<Admission, Refusal>) -> Void
    ) throws(Refusal) {
        let address = viewer.place
        // While there is no place, offers are not read.
        let vacancy = try vacancy(for: address, at: loop.now)
        let negotiation = try negotiate(offer, from: address)
        guard access.atGate({ $0.mayStart(address, now: $1) }) else {
            access.atGate { $0.noteUseless(address, now: $1) }
            throw .tooMany
        }
        var random = SystemRandomNumberGenerator()
        let newcomer = Newcomer(
            id: randomName(digits: 32, using: &random),
            other: viewer,
            negotiation: negotiation,
            completion: completion
        )
        state.withLock { $0.places.take(newcomer.id, from: address, now: loop.now) }
        guard case .insteadOf(let other) = vacancy else { return try add(newcomer, in: loop) }
        end(other, in: loop)
        // In the next round, the port of the other one is free. Perhaps no other port is.
        perform(for: viewer, orRefuse: completion) { [self] loop throws(Refusal) in try add(newcomer, in: loop) }
    }

    private func add(_ newcomer: Newcomer, in loop: PeerLoop) throws(Refusal) {
        let (id, negotiation) = (newcomer.id, newcomer.negotiation)
        guard state.withLock({ $0.places.isWaiting(id) }) else { throw .full(limit: viewerLimit) }
        let connection = PeerConnection(peers, newcomer.other, in: host) { [self] signal, _ in take(signal, of: id) }
        guard let viewer = connection.answer(negotiation, in: loop) else {
            state.withLock { $0.places.leave(id) }
            throw .noTransport
        }
        let session = ViewerSession(
            connection: connection,
            viewer: viewer,
            negotiation: negotiation,
            credentials: negotiation.agreement.remote.credentials,
            completion: newcomer.completion
        )
        state.withLock { $0.sessions[id] = session }
    }

    private func vacancy(for address: String, at now: Instant) throws(Refusal) -> ViewerPlaces.Vacancy {
        let vacancy = state.withLock { $0.places.vacancy(for: address, now: now) }
        switch vacancy {
        case .free, .insteadOf: return vacancy
        case .none: throw .full(limit: viewerLimit)
        case .crowded: throw .tooMany
        }
    }

    /// Ends the session of a viewer that has not connected, for another viewer.
    private func end(_ id: String, in loop: PeerLoop) {
        let session = state.withLock { state in
            state.places.leave(id)
            return state.sessions[id]
        }
        session?.connection.close(as: .busy, in: loop)
    }

    /// The refusal to read requests from an address; nil if they are read.
    func refusalToRead(from address: String) -> Refusal? {
        access.atGate { $0.waitToBeRead(address, now: $1) }.map { .unread(retryAfter: $0) }
    }

    /// The refusal of an offer, as far as that shows without a peer; nil if it is acceptable. Nobody is asked about refused offers.
    func refusal(of offer: String, from address: String, name: String) -> Refusal? {
        do throws(Refusal) {
            _ = try vacancy(for: address, at: MonotonicClock.now())
            _ = try negotiate(offer, from: address)
            return nil
        } catch {
            if case .full = error {
                let viewer = PeerConnection.Other(place: address, name: name)
                _ = peers.perform { [self] _ in tell(error, to: viewer) }
            }
            return error
        }
    }

    private func negotiate(_ offer: String, from address: String) throws(Refusal) -> Negotiation {
        do throws(Refusal) { return try negotiate(offer) } catch {
            access.atGate { $0.noteUseless(address, now: $1) }
            throw error
        }
    }

    private func negotiate(_ offer: String) throws(Refusal) -> Negotiation {
        let description: SessionDescription
        do throws(MalformedSDP) { description = try SessionDescription(parsing: offer) } catch {
            throw .malformed(error)
        }
        do throws(UnacceptableOffer) { return try host.negotiate(description) } catch { throw .unacceptable(error) }
    }
}
