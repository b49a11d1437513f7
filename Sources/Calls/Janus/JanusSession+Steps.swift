import JSON
import Media
import Time

/// From one state to the next.
extension JanusSession {
    mutating func open(claiming place: Place?) {
        state = .opening(claiming: place)
        outputs.append(.openSocket)
    }

    mutating func create(_ now: Instant) {
        (offer, isMigrating) = (nil, false)
        outputs.append(.offer)
        state = .creating(ask(.create, now))
    }

    mutating func created(_ message: JanusMessage, _ now: Instant) {
        switch message.content {
        case .success(let session?): state = .attaching(session: session, ask(.attach, session: session, now))
        case .fault(let fault): failed(fault, now)
        default: break
        }
    }

    mutating func claimed(_ place: Place, _ message: JanusMessage, _ now: Instant) {
        switch message.content {
        case .success:
            state = .published(Publication(place, now))
            outputs.append(.resumed)
            restartIfMigrating()
        case .fault:
            outputs.append(.closePeer)
            create(now)
        default: break
        }
    }

    mutating func attached(_ session: Int, _ message: JanusMessage, _ now: Instant) {
        switch message.content {
        case .success(let handle?):
            let place = Place(session: session, handle: handle)
            state = .attached(place)
            if offer != nil { join(place, now) }
        case .fault(let fault): failed(fault, now)
        default: break
        }
    }

    mutating func join(_ place: Place, _ now: Instant) {
        guard let offer else { return }
        let name = roomIsText ? JSONText(string: room) : JSONText(Int(room) ?? 0)
        let request = JanusRequest.join(name, pin: secrets.pin, token: secrets.token, offer: offer)
        state = .joining(place, ask(request, session: place.session, handle: place.handle, now))
    }

    /// Returns whether the message answers the request to join.
    mutating func joined(_ place: Place, _ message: JanusMessage, _ now: Instant) -> Bool {
        switch message.content {
        case .joined(let answer?): accept(answer, at: place, now)
        case .fault(let fault):
            if fault.meaning == .otherRoomType, !hasChangedType, Int(room) != nil {
                hasChangedType = true
                // This handle has taken the offer already.
                _ = ask(.detach, session: place.session, handle: place.handle, now)
                state = .attaching(session: place.session, ask(.attach, session: place.session, now))
            } else {
                failed(fault, now)
            }
        default: return false
        }
        return true
    }

    mutating func accept(_ answer: JanusDescription, at place: Place, _ now: Instant) {
        guard answer.type == "answer" else {
            let what = answer.type == "offer" ? "offer" : "unknown description"
            return end(.failed, "has sent an \(what) where an answer belongs", now)
        }
        guard !answer.takesNoPicture else {
            let names = codecs.map(\.rawValue)
            let remedy =
                "set videocodec = \"\(names.joined(separator: ",").lowercased())\" in the room, or choose another --codec"
            return end(.failed, "takes no \(names.joined(separator: ", no ")) in room \(room): \(remedy)", now)
        }
        (wasPublished, refusedSince) = (true, nil)
        state = .published(Publication(place, now))
        outputs.append(.accept(sdp: answer.sdp))
        restartIfMigrating()
    }

    /// A message that answers no request.
    mutating func happened(_ message: JanusMessage, at place: Place, _ now: Instant) {
        guard message.session ?? place.session == place.session else { return }
        if case .timeout = message.content { return retry("\(server) has let the session lapse", now) }
        guard message.handle == place.handle else { return }
        switch message.content {
        case .candidate(let line): outputs.append(.addCandidate(line: line))
        case .hangUp(let reason): retry("\(server) has hung up (\(String(quoting: reason)))", now)
        case .detached: retry("\(server) has taken the VideoRoom away", now)
        case .left: end(.tryAgain, "has sent this side away from room \(room)", now)
        case .roomDestroyed: end(.tryAgain, "has closed room \(room)", now)
        case .ack, .success, .fault, .joined, .configured, .timeout, .other: break
        }
    }

    mutating func failed(_ fault: JanusFault, _ now: Instant) {
        let end = fault.end(at: server, room: room, secrets)
        switch fault.meaning {
        case .stale: retry(end.description, now)
        // A room that was made by hand is made again after a server's end, and it may be this side's own place that is held.
        case .noRoom where wasPublished, .full where wasPublished: retry(end.description, now)
        case .unauthorized where mayBeRenewed, .notAdmitted where mayBeRenewed:
            let since = refusedSince ?? now
            refusedSince = since
            if now < since + Self.renewalTime { retry(end.description, now) } else { finish(end, now) }
        default: finish(end, now)
        }
    }

    /// Whether the refused secrets may be renewed. Their renewal may be late.
    private var mayBeRenewed: Bool { wasPublished && secrets != JanusSecrets() }
}
