import Access
import HTTP
import JSON
import Media
import NIOHTTP1
import Peers
import WebRTC

/// Lets viewers into a call by WHEP (draft-ietf-wish-whep-04): an offer makes a session, which its viewer may change and
/// end by the session's path.
struct WHEPEndpoint: Sendable {
    static let path = "/whep"
    static let methods: [HTTPMethod] = [.GET, .HEAD, .POST]
    static let offerType = "application/sdp"
    static let fragmentType = "application/trickle-ice-sdpfrag"
    private static let sessionPrefix = path + "/"

    /// A viewer's request about its session, by the end of the path.
    enum Deed: String, CaseIterable {
        /// To speak.
        case talk = "/talk"
        /// To leave out sound.
        case skip = "/skip"
        /// To stay longer.
        case lease = "/lease"
        /// To change what all see.
        case command = "/command"
        /// To change the session, or end it.
        case change = ""

        var methods: [HTTPMethod] {
            switch self {
            case .talk: [.POST, .DELETE]
            case .skip, .command: [.POST]
            case .lease: [.GET, .HEAD, .PUT]
            case .change: [.PATCH, .DELETE]
            }
        }
    }

    let call: WebCall
    let status: WebStatus
    let commands: CommandDesk
    /// `Link` values for viewers (draft-ietf-wish-whep-04 §4.6).
    let iceServerLinks: @Sendable () -> [String]
    private var access: AccessControl { call.access }

    /// The name of a session, perhaps empty, and the deed in its path; nil for any other path.
    static func session(of path: String) -> (name: String, deed: Deed)? {
        guard path.hasPrefix(sessionPrefix) else { return nil }
        let name = path.dropFirst(sessionPrefix.count)
        return Deed.allCases.first { name.hasSuffix($0.rawValue) }
            .map { (String(name.dropLast($0.rawValue.count)), $0) }
    }

    /// Whether a request is about a session that there is.
    func isForSession(_ request: HTTPRequest) -> Bool {
        guard let session = Self.session(of: request.path) else { return false }
        return session.deed.methods.contains(request.method) && call.hasSession(session.name)
    }

    func add(iceServersTo headers: inout HTTPHeaders) {
        for link in iceServerLinks() { headers.add(name: "Link", value: link) }
    }

    /// Lets a viewer in by its offer, or describes the endpoint.
    func join(_ request: HTTPRequest, by link: AccessEngine.Link, _ completion: @escaping WebService.Completion) {
        // The type that a GET returns tells players that this is a WHEP endpoint.
        guard request.method == .POST else { return completion(HTTPResponse(.ok, ["Content-Type": Self.offerType])) }
        guard request.contentType == Self.offerType else {
            return completion(
                .sentence(.unsupportedMediaType, "an offer is \(Self.offerType)", ["Accept-Post": Self.offerType])
            )
        }
        guard request.accepts(Self.offerType) else {
            return completion(.sentence(.notAcceptable, "the answer is \(Self.offerType)"))
        }
        if case .malformed = LeaseWish(request) { return completion(Self.malformedWish) }
        if status.isStopped {
            return completion(.sentence(.conflict, "nothing is broadcast now", ["Retry-After": "4"]))
        }
        if let refusal = call.refusalToRead(from: request.client) { return completion(Self.response(to: refusal)) }
        let key = request.guestKey
        // A link for one person is that of the first one who comes.
        let (entry, isClaimed) = access.change { engine, _ in
            let entry = engine.entry(key, by: link)
            return if case .granted = entry { (entry, engine.claim(link, for: key)) } else { (entry, false) }
        }
        switch entry {
        case .granted(let name):
            let newcomer = Newcomer(request, name: name, by: link)
            let offer = String(decoding: request.body, as: UTF8.self)
            call.join(offer: offer, newcomer) { result in
                if isClaimed {
                    access.change { engine, _ in
                        if case .success = result { engine.confirm(link) } else { engine.release(link) }
                    }
                }
                completion(response(to: result))
            }
        case .mustKnock: knock(request, key: key, completion)
        case .over, .taken: completion(Self.response(to: .revoked))
        }
    }

    private func response(to result: Result<Admission, Refusal>) -> HTTPResponse {
        switch result {
        case .success(let admission): created(admission)
        case .failure(let refusal): Self.response(to: refusal)
        }
    }

    /// The response waits until somebody has decided. A page first asks its viewer for a name; players cannot.
    private func knock(_ request: HTTPRequest, key: GuestKey?, _ completion: @escaping WebService.Completion) {
        func text(_ field: String) -> String? {
            request.headers.first(name: field).flatMap { String(percentDecoding: $0[...]) }
        }
        let name = text("oriel-name")
        guard name != nil || key == nil else {
            return completion(
                .sentence(
                    .preconditionRequired,
                    "viewers are let in one by one: give a name",
                    ["Oriel-Reason": "knock"]
                )
            )
        }
        let offer = String(decoding: request.body, as: UTF8.self)
        if let refusal = call.refusal(of: offer, from: request.client, name: name ?? "") {
            return completion(Self.response(to: refusal))
        }
        let knocker = Knocker(
            name: name ?? "",
            note: text("oriel-note") ?? "",
            key: key,
            address: request.client
        )
        let number = access.knock(knocker) { knock, answer in
            switch answer {
            case .accepted:
                let newcomer = Newcomer(request, name: knock.name, by: .common)
                call.join(offer: offer, newcomer) { completion(response(to: $0)) }
            case .rejected: completion(.sentence(.forbidden, "you were not let in", Self.hint(.rejected)))
            case .noAnswer: completion(.sentence(.serviceUnavailable, "nobody has answered", Self.hint(.noAnswer)))
            case .cancelled:
                completion(.sentence(.serviceUnavailable, "nobody can answer now", ["Retry-After": "1"]))
            }
        }
        guard let number else {
            access.atGate { $0.noteUseless(request.client, now: $1) }
            return completion(.sentence(.tooManyRequests, "too many wait: try again later", ["Retry-After": "5"]))
        }
        request.disconnection.notify { access.change { engine, _ in _ = engine.answer(number, .cancelled) } }
    }

    /// The session's address is relative to the endpoint's, which a proxy may have changed (RFC 9110 §10.2.2).
    private func created(_ admission: Admission) -> HTTPResponse {
        let location = String(Self.sessionPrefix.dropFirst()) + admission.id
        var headers: HTTPHeaders = [
            "Content-Type": Self.offerType, "Location": location, "ETag": "\"\(admission.generation)\"",
            "Accept-Patch": Self.fragmentType,
        ]
        Self.add(admission.lease, of: location, to: &headers)
        add(iceServersTo: &headers)
        return HTTPResponse(.created, headers, body: Array(admission.answer.utf8))
    }

    static func response(to refusal: Refusal) -> HTTPResponse {
        // Some headers tell a page more than the sentence does.
        let (status, headers): (HTTPResponseStatus, HTTPHeaders) =
            switch refusal {
            case .full: (.serviceUnavailable, ["Retry-After": "5", "Oriel-Reason": EndReason.busy.rawValue])
            case .noRelay: (.serviceUnavailable, ["Retry-After": "5", "Oriel-Reason": EndReason.noRelay.rawValue])
            case .noTransport, .closed: (.serviceUnavailable, ["Retry-After": "5"])
            case .tooMany: (.tooManyRequests, ["Retry-After": "5"])
            case .unread(let seconds): (.tooManyRequests, ["Retry-After": "\(seconds)"])
            case .kicked: (.forbidden, hint(.kicked))
            case .expired: (.gone, hint(.leaseExpired))
            case .revoked: (.unauthorized, ["WWW-Authenticate": "Bearer", "Oriel-Reason": EndReason.revoked.rawValue])
            case .malformed: (.badRequest, [:])
            case .unacceptable(.noCommonCodec): (.notAcceptable, [:])
            case .unacceptable: (.unprocessableEntity, [:])
            }
        return .sentence(status, "\(refusal)", headers)
    }

    private static func hint(_ reason: EndReason) -> HTTPHeaders { ["Oriel-Reason": reason.rawValue] }

    static var unknown: HTTPResponse { .sentence(.notFound, "there is no such session") }

    /// Nil if a session has not ended.
    private func refuse(ended session: String) -> HTTPResponse? {
        switch call.reasonForEnd(of: session) {
        case nil: nil
        case .kicked: Self.response(to: .kicked)
        case .leaseExpired: Self.response(to: .expired)
        case .revoked: Self.response(to: .revoked)
        case let reason?: .sentence(.notFound, "this session is over", Self.hint(reason))
        }
    }

    func perform(_ request: HTTPRequest, _ completion: @escaping WebService.Completion) {
        guard let (session, deed) = Self.session(of: request.path) else { return completion(Self.unknown) }
        if let refusal = refuse(ended: session) { return completion(refusal) }
        call.noteRequest(of: session)
        switch deed {
        case .talk: talk(request, session, completion)
        case .skip: skip(request, session, completion)
        case .lease: lease(request, session, completion)
        case .command: command(request, session, completion)
        case .change: change(request, session, completion)
        }
    }

    /// Notes a viewer's wish to speak, or its end.
    private func talk(_ request: HTTPRequest, _ session: String, _ completion: @escaping WebService.Completion) {
        call.talk(session, wants: request.method == .POST) { outcome in
            switch outcome {
            case .state(let state):
                let headers: HTTPHeaders = ["Content-Type": "application/json"]
                let answer = JSONText(object: [("talk", JSONText(string: state.rawValue))])
                let body = answer.bytes + [UInt8(ascii: "\n")]
                completion(HTTPResponse(state == .asked ? .accepted : .ok, headers, body: Array(body)))
            case .off:
                completion(.sentence(.forbidden, "no viewer is heard here", ["Oriel-Reason": "talk_off"]))
            case .cannotSpeak:
                completion(.sentence(.conflict, "the session sends no sound: offer a sendrecv audio description"))
            case .refused(let seconds):
                completion(
                    .sentence(
                        .forbidden,
                        "your request to speak was refused: ask again later",
                        ["Oriel-Reason": "talk_revoked", "Retry-After": "\(seconds)"]
                    )
                )
            case .tooOften(let seconds):
                completion(.sentence(.tooManyRequests, "you ask too often", ["Retry-After": "\(seconds)"]))
            case .unknownViewer: completion(Self.unknown)
            }
        }
    }

    /// Leaves out sound, as the viewer's buffer is too long. The body is a number of milliseconds.
    private func skip(_ request: HTTPRequest, _ session: String, _ completion: @escaping WebService.Completion) {
        guard let length = Int(String(decoding: request.body, as: UTF8.self)), Peer.skippableSound ~= length else {
            let (least, most) = (Peer.skippableSound.lowerBound, Peer.skippableSound.upperBound)
            return completion(
                .sentence(.badRequest, "sound to leave out is a number of milliseconds, \(least) to \(most)")
            )
        }
        call.skipSound(session, .milliseconds(length)) { isThere in
            completion(isThere ? HTTPResponse(.noContent) : Self.unknown)
        }
    }

    /// Ends a viewer's session, or changes it by a fragment (RFC 9725 §4.3).
    private func change(_ request: HTTPRequest, _ session: String, _ completion: @escaping WebService.Completion) {
        if request.method == .DELETE {
            return call.leave(session) { wasThere in completion(wasThere ? HTTPResponse(.ok) : Self.unknown) }
        }
        guard request.contentType == Self.fragmentType else {
            let type = Self.fragmentType
            return completion(.sentence(.unsupportedMediaType, "a change is \(type)", ["Accept-Patch": type]))
        }
        if let refusal = call.refusalToRead(from: request.client) { return completion(Self.response(to: refusal)) }
        let fragment = String(decoding: request.body, as: UTF8.self)
        let condition = FragmentCondition(request.headers.first(name: "if-match"))
        call.trickle(fragment, to: session, from: request.client, condition) { outcome in
            switch outcome {
            case .unknownViewer: completion(Self.unknown)
            case .malformed(let error): completion(.sentence(.badRequest, "\(error)"))
            case .unconditional:
                completion(.sentence(.preconditionRequired, "a change needs If-Match with the session's ETag"))
            case .outdated: completion(.sentence(.preconditionFailed, "the change is for other ICE credentials"))
            case .tooMany:
                completion(.sentence(.tooManyRequests, "too many restarts came from there", ["Retry-After": "5"]))
            case .added: completion(HTTPResponse(.noContent))
            case .found(let fragment):
                completion(HTTPResponse(.ok, ["Content-Type": Self.fragmentType], body: Array(fragment.utf8)))
            case .restarted(let generation, let fragment):
                let headers: HTTPHeaders = ["Content-Type": Self.fragmentType, "ETag": "\"\(generation)\""]
                completion(HTTPResponse(.ok, headers, body: Array(fragment.utf8)))
            }
        }
    }
}

extension Newcomer {
    /// - Parameter name: its own name, or that by which it was invited; may be empty.
    fileprivate init(_ request: HTTPRequest, name: String, by link: AccessEngine.Link) {
        self.init(from: request.client)
        (self.name, self.link, key) = (name, link, request.guestKey)
        // Other players use the candidates of the answer alone.
        trickles = request.headers.first(name: "oriel-trickle") == "1"
        lease = if case .seconds(let seconds) = WHEPEndpoint.LeaseWish(request) { seconds } else { nil }
    }
}

extension HTTPRequest {
    /// Bytes of a page's secret.
    private static let secretLengths = 16...64

    /// The key by which a viewer is recognized later. Nil without a secret of 16 to 64 bytes.
    var guestKey: GuestKey? {
        headers.first(name: "oriel-viewer").flatMap {
            Self.secretLengths ~= $0.utf8.count ? GuestKey(rawValue: sha256(of: $0)) : nil
        }
    }
}
