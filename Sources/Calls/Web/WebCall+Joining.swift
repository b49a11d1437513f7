import Access
import Media
import Peers
import Posix
import RTP
import Synchronization
import Time
import WebRTC

/// The coming of viewers: offers, places and limits.
extension WebCall {
    /// Answers an offer, or refuses. The completion is called once, on any thread.
    ///
    package func join(
        offer: String,
        _ newcomer: Newcomer,
        completion: @escaping @Sendable (Result<Admission, Refusal>) -> Void
    ) {
        let address = newcomer.address
        var viewer = PeerConnection.Other(place: address, name: newcomer.name, guest: newcomer.key)
        (viewer.link, viewer.trickles) = (newcomer.link, newcomer.trickles)
        viewer.admit = { [access] count in access.atGate { $0.admit(count, of: address, now: $1) } }
        viewer.kick = { $0.close(as: $1) }
        perform(for: viewer, orRefuse: completion) { [self, viewer] loop throws(Refusal) in
            // While there is no place, offers are not read.
            let vacancy = try vacancy(for: address, at: loop.now)
            let negotiation = try negotiate(offer, from: address, by: newcomer.link)
            guard access.atGate({ $0.mayStart(address, now: $1) }) else {
                access.atGate { $0.noteUseless(address, now: $1) }
                throw .tooMany
            }
            var random = SystemRandomNumberGenerator()
            let id = randomName(digits: 32, using: &random)
            state.withLock { $0.places.take(id, from: address, now: loop.now) }
            let begin: @Sendable (PeerLoop) throws(Refusal) -> Void = { [self] loop throws(Refusal) in
                try add(viewer, as: id, negotiation, lease: newcomer.lease, in: loop, completion)
            }
            guard case .insteadOf(let other) = vacancy else { return try begin(loop) }
            end(other, in: loop)
            // In the next round, the port of the other one is free. Perhaps no other port is.
            perform(for: viewer, orRefuse: completion, begin)
        }
    }

    /// Makes the peer of a viewer that has a place.
    private func add(
        _ other: PeerConnection.Other,
        as id: String,
        _ negotiation: Negotiation,
        lease wish: Int?,
        in loop: PeerLoop,
        _ completion: @escaping @Sendable (Result<Admission, Refusal>) -> Void
    ) throws(Refusal) {
        guard state.withLock({ $0.places.isWaiting(id) }) else { throw .full(limit: viewerLimit) }
        let connection = PeerConnection(peers, other, in: host) { [self] signal, _ in take(signal, of: id) }
        guard let viewer = connection.answer(negotiation, in: loop) else {
            state.withLock { $0.places.leave(id) }
            throw .noTransport
        }
        let asleep = MonotonicClock.suspendedTime()
        let lease = access.change { $0.beginLease(of: viewer.id, wish: wish, asleep: asleep, at: $1) }
        let session = ViewerSession(
            connection: connection,
            viewer: viewer,
            negotiation: negotiation,
            lease: lease,
            credentials: negotiation.agreement.remote.credentials,
            completion: completion
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
            _ = try negotiate(offer, from: address, by: .common)
            return nil
        } catch {
            if case .full = error {
                let viewer = PeerConnection.Other(place: address, name: name)
                _ = peers.perform { [self] _ in tell(error, to: viewer) }
            }
            return error
        }
    }

    private func negotiate(
        _ offer: String,
        from address: String,
        by link: AccessEngine.Link
    ) throws(Refusal) -> Negotiation {
        do throws(Refusal) { return try negotiate(offer, by: link) } catch {
            access.atGate { $0.noteUseless(address, now: $1) }
            throw error
        }
    }

    private func negotiate(_ offer: String, by link: AccessEngine.Link) throws(Refusal) -> Negotiation {
        let rights = access.read { $0.rights(by: link) }
        // Its end was just now.
        guard rights.contains(.watch) else { throw .revoked }
        let description: SessionDescription
        do throws(MalformedSDP) { description = try SessionDescription(parsing: offer) } catch {
            throw .malformed(error)
        }
        do throws(UnacceptableOffer) {
            return try host.negotiate(description, rights: rights)
        } catch {
            throw .unacceptable(error)
        }
    }
}
