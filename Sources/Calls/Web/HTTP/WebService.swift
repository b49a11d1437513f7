import NIOHTTP1
import Posix
import RTP
import Synchronization
import WebRTC

/// What the web server does, apart from HTTP's bytes: WHEP (draft-ietf-wish-whep-04), the page, snapshot and status.
package final class WebService: Sendable {
    package struct Configuration: Sendable {
        /// Nil lets everybody in.
        package var token: String?
        /// What viewers call the server, beside its addresses.
        package var names: [String]
        /// Whose pages may use the service without a token.
        package var origins: [WebOrigin]
        /// `Link` values for viewers (draft-ietf-wish-whep-04 §4.6), such as `<stun:stun.example.net>; rel="ice-server"`.
        package var iceServerLinks: [String]
        package var snapshots: SnapshotSource

        package init(
            token: String?,
            names: [String] = [],
            origins: [WebOrigin] = [],
            iceServerLinks: [String],
            snapshots: SnapshotSource
        ) {
            self.token = token
            self.names = names
            self.origins = origins
            self.iceServerLinks = iceServerLinks
            self.snapshots = snapshots
        }
    }

    /// Where snapshots come from.
    package struct SnapshotSource: Sendable {
        /// The instant before which no picture may have been taken that is shown now. Asked on the server's thread too.
        package var horizon: @Sendable () -> UInt64
        /// The current picture, or a sentence why there is none. May block.
        package var picture: @Sendable () -> Result<Snapshot, SnapshotFailure>

        package init(
            horizon: @escaping @Sendable () -> UInt64,
            picture: @escaping @Sendable () -> Result<Snapshot, SnapshotFailure>
        ) {
            self.horizon = horizon
            self.picture = picture
        }
    }

    package struct Snapshot: Sendable {
        package let png: [UInt8]
        /// When it was taken from the screen: nanoseconds of CLOCK_MONOTONIC.
        package let takenAt: UInt64

        package init(png: [UInt8], takenAt: UInt64) {
            self.png = png
            self.takenAt = takenAt
        }
    }

    package struct SnapshotFailure: Error, CustomStringConvertible {
        package let description: String

        package init(_ description: String) { self.description = description }
    }

    typealias Completion = @Sendable (WebResponse) -> Void

    private static let endpoint = "/whep"
    private static let sessions = "/whep/"
    private static let offerType = "application/sdp"
    private static let fragmentType = "application/trickle-ice-sdpfrag"

    let events = EventHub()
    private let configuration: Configuration
    private let call: WebCall
    private let access: Mutex<AccessGuard>
    private let origins: OriginGuard
    private let state = Mutex("starting")
    private let snapshots: SnapshotDesk

    package init(_ configuration: Configuration, call: WebCall) {
        self.configuration = configuration
        self.call = call
        access = Mutex(AccessGuard(token: configuration.token))
        origins = OriginGuard(names: configuration.names, allowed: configuration.origins)
        snapshots = SnapshotDesk(configuration.snapshots)
        publishState()
    }

    /// Closes the call, and waits until nobody waits for an answer of it or for a snapshot.
    func close() {
        call.close()
        snapshots.close()
    }

    /// Tells viewers how the broadcast is, by its name in status files.
    package func setState(_ name: String) {
        state.withLock { $0 = name }
        publishState()
    }

    /// Tells viewers how many they are.
    package func viewersChanged() { publishState() }

    private var status: String {
        let viewers = call.viewers.filter(\.isConnected).count
        return "{\"state\":\"\(state.withLock { $0 })\",\"viewers\":\(viewers)}"
    }

    private func publishState() { events.publish { status } }

    // MARK: - Routes

    /// - Parameter completion: called once, on any thread.
    package func respond(to request: WebRequest, completion: @escaping @Sendable (WebResponse) -> Void) {
        route(request) { [self] response in completion(decorated(response, for: request)) }
    }

    private func route(_ request: WebRequest, _ completion: @escaping Completion) {
        if let refusal = misdirection(request) { return completion(refusal) }
        guard let methods = Self.methods(of: request.path) else {
            return completion(.sentence(.notFound, "there is nothing at \(request.path)"))
        }
        if request.method == .OPTIONS { return completion(options(request, methods)) }
        if let page = WebPage.response(to: request.path) { return completion(refuse(request, unless: methods) ?? page) }
        if let refusal = authorize(request) ?? refuse(request, unless: methods) { return completion(refusal) }
        switch request.path {
        case Self.endpoint: join(request, completion)
        case "/snapshot.png": snapshot(completion)
        case "/api/status": completion(json(status))
        case "/api/events": completion(eventStream)
        default: change(Self.session(request.path), request, completion)
        }
    }

    private static func session(_ path: String) -> String { String(path.dropFirst(sessions.count)) }

    /// What a path takes beside OPTIONS; nil where there is nothing.
    private static func methods(of path: String) -> [HTTPMethod]? {
        switch path {
        case endpoint: [.GET, .HEAD, .POST]
        case "/snapshot.png", "/api/status": [.GET, .HEAD]
        case "/api/events": [.GET]
        case "*": []
        case _ where path.hasPrefix(sessions): [.PATCH, .DELETE]
        default: WebPage.response(to: path) == nil ? nil : [.GET, .HEAD]
        }
    }

    /// What a request gets that came by a way on which no token protects the service.
    private func misdirection(_ request: WebRequest) -> WebResponse? {
        configuration.token == nil ? origins.refusal(of: request) : nil
    }

    /// The name of a session lets its viewer change and end that without the token, which some players leave out there.
    private func authorize(_ request: WebRequest) -> WebResponse? {
        let authorization = request.headers.first(name: "authorization")
        if authorization == nil, [.PATCH, .DELETE].contains(request.method), request.path.hasPrefix(Self.sessions),
            call.hasSession(Self.session(request.path))
        {
            return nil
        }
        let now = MonotonicClock.now()
        switch access.withLock({ $0.check(authorization, from: request.client, now: now) }) {
        case .allowed: return nil
        case .wrongToken:
            return .sentence(.unauthorized, "the link is not right: ask for a new one", ["WWW-Authenticate": "Bearer"])
        case .tooManyWrong(let seconds):
            return .sentence(.tooManyRequests, "too many wrong links came from here", ["Retry-After": "\(seconds)"])
        }
    }

    /// Browsers ask without the token before a page of another origin does anything; who shows it, as some players do,
    /// learns the ICE servers (RFC 9725 §4.6).
    private func options(_ request: WebRequest, _ methods: [HTTPMethod]) -> WebResponse {
        let isKnown = configuration.token == nil || request.headers.contains(name: "authorization")
        if isKnown, let refusal = authorize(request) { return refusal }
        var headers: HTTPHeaders = [
            "Allow": Self.names(methods),
            "Accept-Post": Self.offerType,
            "Accept-Patch": Self.fragmentType,
        ]
        if isKnown, request.path == Self.endpoint { add(iceServersTo: &headers) }
        return WebResponse(.ok, headers)
    }

    private func add(iceServersTo headers: inout HTTPHeaders) {
        for link in configuration.iceServerLinks { headers.add(name: "Link", value: link) }
    }

    /// Nil if the request's method is one of those.
    private func refuse(_ request: WebRequest, unless methods: [HTTPMethod]) -> WebResponse? {
        if methods.contains(request.method) { return nil }
        let names = Self.names(methods)
        return .sentence(.methodNotAllowed, "\(request.path) takes \(names) only", ["Allow": names])
    }

    private static func names(_ methods: [HTTPMethod]) -> String {
        (methods + [.OPTIONS]).map(\.rawValue).joined(separator: ", ")
    }

    /// Other origins may use the service with the token, and without one those that are allowed: any other page must not
    /// look at what a viewer's network alone protects. Cookies play no part.
    private func decorated(_ response: WebResponse, for request: WebRequest) -> WebResponse {
        var response = response
        func add(_ name: String, _ value: String) { response.headers.add(name: name, value: value) }
        add("X-Content-Type-Options", "nosniff")
        if !response.headers.contains(name: "Cache-Control") { add("Cache-Control", "no-store") }
        let origin = configuration.token != nil ? "*" : origins.allowedOrigin(of: request)
        if configuration.token == nil {
            add("Cross-Origin-Resource-Policy", "same-origin")
            add("Vary", "Origin")
        }
        if let origin { response.open(to: origin, isPreflight: request.method == .OPTIONS) }
        return response
    }

    private func json(_ text: String) -> WebResponse {
        WebResponse(.ok, ["Content-Type": "application/json"], body: Array("\(text)\n".utf8))
    }

    private var eventStream: WebResponse {
        // Proxies shall not hold back what has come (nginx).
        var response = WebResponse(.ok, ["Content-Type": "text/event-stream", "X-Accel-Buffering": "no"])
        response.body = .events
        return response
    }

    private func snapshot(_ completion: @escaping Completion) {
        snapshots.take { [snapshots] snapshot in
            switch snapshot {
            case .success(let snapshot):
                var response = WebResponse(.ok, ["Content-Type": "image/png"], body: snapshot.png)
                response.isInSight = { snapshots.isInSight(snapshot) }
                completion(response)
            case .failure(let failure):
                completion(.sentence(.serviceUnavailable, "\(failure)", ["Retry-After": "1"]))
            }
        }
    }

    // MARK: - WHEP

    private func join(_ request: WebRequest, _ completion: @escaping Completion) {
        // What a GET would return tells players that this is a WHEP endpoint.
        guard request.method == .POST else { return completion(WebResponse(.ok, ["Content-Type": Self.offerType])) }
        guard request.contentType == Self.offerType else {
            return completion(
                .sentence(.unsupportedMediaType, "an offer is \(Self.offerType)", ["Accept-Post": Self.offerType])
            )
        }
        guard request.accepts(Self.offerType) else {
            return completion(.sentence(.notAcceptable, "the answer is \(Self.offerType)"))
        }
        if state.withLock({ $0 == "stopped" }) {
            return completion(.sentence(.conflict, "nothing is broadcast now", ["Retry-After": "4"]))
        }
        call.join(offer: String(decoding: request.body, as: UTF8.self), from: request.client) { [self] result in
            switch result {
            case .success(let admission): completion(created(admission))
            case .failure(let refusal):
                completion(.sentence(Self.status(of: refusal), "\(refusal)", Self.hints(refusal)))
            }
        }
    }

    /// The session's address is relative to the endpoint's, whatever a proxy made of that (RFC 9110 §10.2.2).
    private func created(_ admission: Admission) -> WebResponse {
        var headers: HTTPHeaders = [
            "Content-Type": Self.offerType, "Location": String(Self.sessions.dropFirst()) + admission.id,
            "ETag": "\"\(admission.generation)\"", "Accept-Patch": Self.fragmentType,
        ]
        add(iceServersTo: &headers)
        return WebResponse(.created, headers, body: Array(admission.answer.utf8))
    }

    private static func status(of refusal: Refusal) -> HTTPResponseStatus {
        switch refusal {
        case .full, .noTransport, .closed: .serviceUnavailable
        case .tooMany: .tooManyRequests
        case .malformed: .badRequest
        case .unacceptable(.noCommonCodec): .notAcceptable
        case .unacceptable: .unprocessableEntity
        }
    }

    /// What a page needs to know beside the sentence.
    private static func hints(_ refusal: Refusal) -> HTTPHeaders {
        switch refusal {
        case .full: ["Retry-After": "5", "Oriel-Reason": "full"]
        case .noTransport, .closed, .tooMany: ["Retry-After": "5"]
        case .malformed, .unacceptable: [:]
        }
    }

    private func change(_ session: String, _ request: WebRequest, _ completion: @escaping Completion) {
        let unknown = WebResponse.sentence(.notFound, "there is no such session")
        if request.method == .DELETE {
            return call.leave(session) { wasThere in completion(wasThere ? WebResponse(.ok) : unknown) }
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
            case .added: completion(WebResponse(.noContent))
            case .restarted(let generation, let fragment):
                let headers: HTTPHeaders = ["Content-Type": Self.fragmentType, "ETag": "\"\(generation)\""]
                completion(WebResponse(.ok, headers, body: Array(fragment.utf8)))
            }
        }
    }
}
