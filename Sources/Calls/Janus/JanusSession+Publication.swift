package import Time
import WebRTC

/// While the room has the picture.
extension JanusSession {
    struct Publication {
        enum Restart {
            /// The peer prepares another generation.
            case proposing
            case asked(Request)
        }

        let place: Place
        var keepAliveAt: Instant
        /// Without an answer so far.
        var keepAlive: Request?
        /// Under way; nil for none.
        var restart: Restart?

        init(_ place: Place, _ now: Instant) {
            (self.place, keepAliveAt) = (place, now + JanusSession.keepAliveInterval)
        }

        var deadline: Instant {
            let nextKeepAlive = keepAlive?.until ?? keepAliveAt
            return asked.map { min($0.until, nextKeepAlive) } ?? nextKeepAlive
        }

        var asked: Request? { if case .asked(let request) = restart { request } else { nil } }
    }

    mutating func tick(_ publication: Publication, _ now: Instant) {
        let awaited = [publication.keepAlive, publication.asked].compactMap(\.?.until)
        if awaited.contains(where: { $0 <= now }) { return lost("\(server) does not answer", now: now) }
        var publication = publication
        publication.keepAlive = ask(.keepAlive, session: publication.place.session, now)
        state = .published(publication)
    }

    mutating func received(_ message: JanusMessage, _ publication: Publication, _ now: Instant) {
        switch message.transaction {
        case let transaction? where transaction == publication.keepAlive?.transaction:
            if case .fault(let fault) = message.content { return failed(fault, now) }
            // It has been well for a while.
            backoff.succeed()
            var publication = publication
            (publication.keepAliveAt, publication.keepAlive) = (now + Self.keepAliveInterval, nil)
            state = .published(publication)
        case let transaction? where transaction == publication.asked?.transaction:
            restarted(message, publication, now)
        default: happened(message, at: publication.place, now)
        }
    }

    // MARK: - Another network

    /// This side's addresses or routes have changed, so another attempt may succeed now.
    package mutating func networkChanged() {
        switch state {
        case .waiting(_, let place):
            backoff.succeed()
            open(claiming: place)
        case .opening(let place):
            // The attempt by the old route would only fail seconds later.
            outputs.append(.closeSocket)
            open(claiming: place)
        case .published: restartIfMigrating()
        case .idle, .creating, .claiming, .attaching, .attached, .joining, .leaving, .ended: break
        }
    }

    /// The machine was suspended, and its clock stood still. The server has counted that time.
    package mutating func slept(for time: Duration, now: Instant) {
        switch state {
        case .waiting(let until, let place): state = .waiting(until: until - time, claiming: place)
        case .published(var publication) where publication.keepAlive == nil:
            publication.keepAliveAt = max(publication.keepAliveAt - time, now)
            state = .published(publication)
        default: break
        }
        tick(now: now)
    }

    /// The path begins at an address that is gone. Janus accepts packets from another one, but reports to the old one until ICE restarts.
    package mutating func migrating() {
        isMigrating = true
        restartIfMigrating()
    }

    mutating func restartIfMigrating() {
        guard isMigrating, case .published(var publication) = state, publication.restart == nil else { return }
        publication.restart = .proposing
        state = .published(publication)
        outputs.append(.propose)
    }

    /// The peer has prepared another generation of ICE; nil if it cannot for now.
    package mutating func proposed(_ fragment: String?, now: Instant) {
        guard case .published(var publication) = state, case .proposing? = publication.restart else { return }
        guard let fragment else {
            publication.restart = nil
            return state = .published(publication)
        }
        guard let restarted = restartedOffer(fragment) else {
            return retry("\(server) cannot be told of the other network", now)
        }
        offer = restarted
        let (request, place) = (JanusRequest.restart(offer: restarted), publication.place)
        publication.restart = .asked(ask(request, session: place.session, handle: place.handle, now))
        state = .published(publication)
    }

    private func restartedOffer(_ fragment: String) -> String? {
        guard let offer, let description = try? SessionDescription(parsing: offer),
            let fragment = try? TrickleFragment(parsing: fragment, mids: description.mids),
            let credentials = fragment.credentials
        else { return nil }
        return "\(description.restarted(with: credentials, fragment.candidates))"
    }

    private mutating func restarted(_ message: JanusMessage, _ publication: Publication, _ now: Instant) {
        switch message.content {
        case .configured(let answer?) where answer.type == "answer":
            isMigrating = false
            var publication = publication
            publication.restart = nil
            state = .published(publication)
            outputs.append(.acceptProposal(sdp: answer.sdp))
        // Without a restart it would report to nobody.
        case .configured: retry("\(server) has restarted ICE without an answer", now)
        case .fault(let fault): retry(fault.end(at: server, room: room, secrets).description, now)
        default: happened(message, at: publication.place, now)
        }
    }
}
