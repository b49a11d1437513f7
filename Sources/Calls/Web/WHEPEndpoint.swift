import HTTP
import NIOHTTP1
import WebRTC

/// Lets viewers into a call by WHEP (draft-ietf-wish-whep-04): an offer makes a session, which its viewer may change and
/// end by the session's path.
struct WHEPEndpoint: Sendable {
    static let path = "/whep"
    static let methods: [HTTPMethod] = [.GET, .HEAD, .POST]
    static let sessionMethods: [HTTPMethod] = [.PATCH, .DELETE]
    static let offerType = "application/sdp"
    static let fragmentType = "application/trickle-ice-sdpfrag"
    private static let sessionPrefix = path + "/"
    private static let kickedHint: HTTPHeaders = ["Oriel-Reason": "kicked"]

    let call: WebCall
    let status: WebStatus
    /// `Link` values for viewers (draft-ietf-wish-whep-04 §4.6).
    let iceServerLinks: @Sendable () -> [String]
    /// Where viewers wait to be let in; nil where all are.
    let lobby: Lobby?

    /// The name of a session, perhaps empty, by its path; nil for any other path.
    static func session(of path: String) -> String? {
        path.hasPrefix(sessionPrefix) ? String(path.dropFirst(sessionPrefix.count)) : nil
    }

    /// Whether a request changes or ends a session that there is.
    func isForSession(_ request: HTTPRequest) -> Bool {
        guard Self.sessionMethods.contains(request.method) else { return false }
        return Self.session(of: request.path).map { call.hasSession($0) } ?? false
    }

    /// Tells a viewer the ICE servers.
    func add(iceServersTo headers: inout HTTPHeaders) {
        for link in iceServerLinks() { headers.add(name: "Link", value: link) }
    }

    /// Lets a viewer in by its offer, or tells what the endpoint is.
    func join(_ request: HTTPRequest, _ completion: @escaping WebService.Completion) {
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
        if status.isStopped {
            return completion(.sentence(.conflict, "nothing is broadcast now", ["Retry-After": "4"]))
        }
        guard let lobby, !lobby.isKnown(request.viewerKey) else { return admit(request, completion) }
        knock(request, at: lobby, completion)
    }

    private func admit(_ request: HTTPRequest, _ completion: @escaping WebService.Completion) {
        let offer = String(decoding: request.body, as: UTF8.self)
        call.join(offer: offer, from: request.client, viewerKey: request.viewerKey) { result in
            switch result {
            case .success(let admission): completion(created(admission))
            case .failure(let refusal):
                completion(.sentence(Self.status(of: refusal), "\(refusal)", Self.hints(refusal)))
            }
        }
    }

    /// The response waits until somebody has decided. A page first asks its viewer for a name; players cannot.
    private func knock(_ request: HTTPRequest, at lobby: Lobby, _ completion: @escaping WebService.Completion) {
        func text(_ field: String) -> String? {
            request.headers.first(name: field).flatMap { String(percentDecoding: $0[...]) }
        }
        let name = text("oriel-name")
        guard name != nil || request.viewerKey == nil else {
            return completion(
                .sentence(.preconditionRequired, "whoever shares this screen lets people in", ["Oriel-Reason": "knock"])
            )
        }
        let number = lobby.knock(
            name: name ?? "",
            note: text("oriel-note") ?? "",
            key: request.viewerKey,
            from: request.client
        ) { answer in
            switch answer {
            case .accepted: admit(request, completion)
            case .rejected:
                completion(.sentence(.forbidden, "you were not let in", ["Oriel-Reason": "rejected"]))
            case .noAnswer:
                completion(.sentence(.serviceUnavailable, "nobody has answered", ["Oriel-Reason": "no-answer"]))
            case .cancelled:
                completion(.sentence(.serviceUnavailable, "nobody can answer now", ["Retry-After": "1"]))
            }
        }
        guard let number else {
            return completion(.sentence(.tooManyRequests, "too many wait: try again later", ["Retry-After": "5"]))
        }
        request.departure.notify { lobby.answer(number, .cancelled) }
    }

    /// The session's address is relative to the endpoint's, whatever a proxy made of that (RFC 9110 §10.2.2).
    private func created(_ admission: Admission) -> HTTPResponse {
        var headers: HTTPHeaders = [
            "Content-Type": Self.offerType, "Location": String(Self.sessionPrefix.dropFirst()) + admission.id,
            "ETag": "\"\(admission.generation)\"", "Accept-Patch": Self.fragmentType,
        ]
        add(iceServersTo: &headers)
        return HTTPResponse(.created, headers, body: Array(admission.answer.utf8))
    }

    private static func status(of refusal: Refusal) -> HTTPResponseStatus {
        switch refusal {
        case .full, .noTransport, .closed: .serviceUnavailable
        case .tooMany: .tooManyRequests
        case .kicked: .forbidden
        case .malformed: .badRequest
        case .unacceptable(.noCommonCodec): .notAcceptable
        case .unacceptable: .unprocessableEntity
        }
    }

    /// Headers that tell a page more than the sentence does.
    private static func hints(_ refusal: Refusal) -> HTTPHeaders {
        switch refusal {
        case .full: ["Retry-After": "5", "Oriel-Reason": "full"]
        case .noTransport, .closed, .tooMany: ["Retry-After": "5"]
        case .kicked: kickedHint
        case .malformed, .unacceptable: [:]
        }
    }

    /// Ends a viewer's session, or changes it by a fragment (RFC 9725 §4.3).
    func change(_ request: HTTPRequest, _ completion: @escaping WebService.Completion) {
        let session = Self.session(of: request.path) ?? ""
        let unknown = HTTPResponse.sentence(.notFound, "there is no such session")
        if call.wasKicked(session) {
            return completion(.sentence(.forbidden, "\(Refusal.kicked)", Self.kickedHint))
        }
        if request.method == .DELETE {
            return call.leave(session) { wasThere in completion(wasThere ? HTTPResponse(.ok) : unknown) }
        }
        guard request.contentType == Self.fragmentType else {
            let type = Self.fragmentType
            return completion(.sentence(.unsupportedMediaType, "a change is \(type)", ["Accept-Patch": type]))
        }
        let fragment = String(decoding: request.body, as: UTF8.self)
        let condition = FragmentCondition(request.headers.first(name: "if-match"))
        call.trickle(fragment, to: session, condition) { outcome in
            switch outcome {
            case .unknownViewer: completion(unknown)
            case .malformed(let error): completion(.sentence(.badRequest, "\(error)"))
            case .unconditional:
                completion(.sentence(.preconditionRequired, "a change needs If-Match with the session's ETag"))
            case .outdated: completion(.sentence(.preconditionFailed, "the change is for other ICE credentials"))
            case .tooMany:
                completion(.sentence(.tooManyRequests, "too many restarts came from there", ["Retry-After": "5"]))
            case .added: completion(HTTPResponse(.noContent))
            case .restarted(let generation, let fragment):
                let headers: HTTPHeaders = ["Content-Type": Self.fragmentType, "ETag": "\"\(generation)\""]
                completion(HTTPResponse(.ok, headers, body: Array(fragment.utf8)))
            }
        }
    }
}

extension HTTPRequest {
    /// By what a viewer is known that was let in before; the page makes it up. The certificates by which members of rooms are known
    /// are longer.
    var viewerKey: String? { headers.first(name: "oriel-viewer").flatMap { 16...64 ~= $0.utf8.count ? $0 : nil } }
}
