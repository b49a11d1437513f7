import Access
import Control
package import HTTP
import NIOHTTP1

/// Answers viewers' browsers and programs by HTTP: WHEP, the page, snapshots and status. Close it before the call.
package final class WebService: Sendable {
    typealias Completion = @Sendable (HTTPResponse) -> Void

    /// Before the name of a session.
    private static let viewerPrefix = "/api/viewers/"
    /// Paths for viewers that are let in.
    private static let admittedPaths: Set = ["/snapshot.png", "/api/status", "/api/events"]

    private let status: WebStatus
    private let access: AccessControl
    private let origins: OriginGuard
    private let whep: WHEPEndpoint
    private let snapshots: SnapshotDesk
    private let recorders: RecorderEndpoint

    package init(_ settings: WebSettings, call: WebCall) {
        (status, access) = (settings.status, call.access)
        origins = OriginGuard(names: settings.names, allowed: settings.origins)
        whep = WHEPEndpoint(call: call, status: status, iceServerLinks: settings.iceServerLinks)
        snapshots = SnapshotDesk(settings.snapshots)
        recorders = RecorderEndpoint(settings.recorders)
    }

    /// Waits until nobody waits for a snapshot. Later requests for one are refused.
    package func close() { snapshots.close() }

    // MARK: - Routes

    /// - Parameter completion: called once, on any thread.
    package func respond(to request: HTTPRequest, completion: @escaping @Sendable (HTTPResponse) -> Void) {
        route(request) { [self] response in completion(decorated(response, for: request)) }
    }

    private func route(_ request: HTTPRequest, _ completion: @escaping Completion) {
        // Without a token, only the name and the origin of a request protect the service.
        if !access.needsToken, let refusal = origins.refusal(of: request) { return completion(refusal) }
        guard let methods = Self.methods(of: request.path) else {
            return completion(.sentence(.notFound, "there is nothing at \(request.path)"))
        }
        if request.method == .OPTIONS { return completion(options(request, methods)) }
        let page = WebPage.response(to: request.path)
        if let refusal = refusal(of: request, methods, isOpen: page != nil) { return completion(refusal) }
        if let page { return completion(page) }
        switch request.path {
        case WHEPEndpoint.path: whep.join(request, completion)
        case "/snapshot.png": snapshot(completion)
        case "/api/status": completion(Self.json(status.json))
        case "/api/events": completion(eventStream)
        case _ where request.path.hasPrefix(Self.viewerPrefix):
            let report = whep.call.report(on: String(request.path.dropFirst(Self.viewerPrefix.count)), status.work)
            completion(report.map { Self.json($0.json) } ?? .sentence(.notFound, "there is no such session"))
        default:
            if let deed = RecorderEndpoint.deed(of: request.path) {
                recorders.respond(to: request, deed, completion)
            } else {
                whep.perform(request, completion)
            }
        }
    }

    private static func json(_ text: String) -> HTTPResponse {
        HTTPResponse(.ok, ["Content-Type": "application/json"], body: Array("\(text)\n".utf8))
    }

    /// The methods that a path takes, beside OPTIONS; nil for a path without a resource.
    private static func methods(of path: String) -> [HTTPMethod]? {
        switch path {
        case WHEPEndpoint.path: WHEPEndpoint.methods
        case "/snapshot.png", "/api/status": [.GET, .HEAD]
        case "/api/events": [.GET]
        case _ where path.hasPrefix(viewerPrefix): [.GET, .HEAD]
        case "*": []
        default:
            RecorderEndpoint.deed(of: path)?.methods ?? WHEPEndpoint.session(of: path)?.deed.methods
                ?? (WebPage.response(to: path) == nil ? nil : [.GET, .HEAD])
        }
    }

    // MARK: - Access

    /// The refusal of a request; nil if it is answered. A viewer that has to knock may make an offer.
    ///
    /// - Parameter isOpen: whether anybody may see the path: a page, by which viewers show their tokens and knock.
    private func refusal(of request: HTTPRequest, _ methods: [HTTPMethod], isOpen: Bool) -> HTTPResponse? {
        if !isOpen, let refusal = authorize(request) { return refusal }
        if !methods.contains(request.method) {
            let names = Self.names(methods)
            return .sentence(.methodNotAllowed, "\(request.path) takes \(names) only", ["Allow": names])
        }
        let isAboutRecorders = RecorderEndpoint.deed(of: request.path) != nil
        if isAboutRecorders || Self.admittedPaths.contains(request.path), !isLetIn(request) {
            return .sentence(.forbidden, "ask to be let in first", ["Oriel-Reason": "knock"])
        }
        if isAboutRecorders, !access.read({ $0.newcomerRights.contains(.record) }) {
            return .sentence(.forbidden, "viewers may not record here", ["Oriel-Reason": "right"])
        }
        return nil
    }

    /// Whether the viewer need not knock, or was let in.
    private func isLetIn(_ request: HTTPRequest) -> Bool {
        let key = request.guestKey
        return access.read { $0.entry(key) } != .mustKnock
    }

    /// The refusal of a request without the right token; nil if it may be answered. A viewer may change and end its session by the session's
    /// name, without the token: some players leave the token out there.
    private func authorize(_ request: HTTPRequest) -> HTTPResponse? {
        let authorization = request.headers.first(name: "authorization")
        if authorization == nil, whep.isForSession(request) { return nil }
        switch access.atGate({ $0.token.check(authorization, from: request.client, now: $1) }) {
        case .allowed: return nil
        case .wrongToken:
            return .sentence(.unauthorized, "the link is not right: ask for a new one", ["WWW-Authenticate": "Bearer"])
        case .tooManyWrong(let seconds):
            return .sentence(.tooManyRequests, "too many wrong links came from here", ["Retry-After": "\(seconds)"])
        }
    }

    /// Answers OPTIONS. Browsers ask without the token before a page of another origin does anything; a client that shows the
    /// token, as some players do, learns the ICE servers (RFC 9725 §4.6).
    private func options(_ request: HTTPRequest, _ methods: [HTTPMethod]) -> HTTPResponse {
        let isKnown = !access.needsToken || request.headers.contains(name: "authorization")
        if isKnown, let refusal = authorize(request) { return refusal }
        var headers: HTTPHeaders = [
            "Allow": Self.names(methods),
            "Accept-Post": WHEPEndpoint.offerType,
            "Accept-Patch": WHEPEndpoint.fragmentType,
        ]
        if isKnown, isLetIn(request), request.path == WHEPEndpoint.path { whep.add(iceServersTo: &headers) }
        return HTTPResponse(.ok, headers)
    }

    private static func names(_ methods: [HTTPMethod]) -> String {
        (methods + [.OPTIONS]).map(\.rawValue).joined(separator: ", ")
    }

    /// Adds the headers of all responses. With a token, pages of every origin may use the service. Without one, only the viewer's network
    /// protects it, so only pages of allowed origins may. Cookies play no part.
    private func decorated(_ response: HTTPResponse, for request: HTTPRequest) -> HTTPResponse {
        var response = response
        func add(_ name: String, _ value: String) { response.headers.add(name: name, value: value) }
        add("X-Content-Type-Options", "nosniff")
        if !response.headers.contains(name: "Cache-Control") { add("Cache-Control", "no-store") }
        let origin = access.needsToken ? "*" : origins.allowedOrigin(of: request)
        if !access.needsToken {
            add("Cross-Origin-Resource-Policy", "same-origin")
            add("Vary", "Origin")
        }
        if let origin { response.open(to: origin, isPreflight: request.method == .OPTIONS) }
        return response
    }

    private var eventStream: HTTPResponse {
        // Proxies shall not hold back events (nginx).
        var response = HTTPResponse(.ok, ["Content-Type": "text/event-stream", "X-Accel-Buffering": "no"])
        response.body = .events(status.events)
        return response
    }

    private func snapshot(_ completion: @escaping Completion) {
        snapshots.take { [snapshots] snapshot in
            switch snapshot {
            case .success(let snapshot):
                var response = HTTPResponse(.ok, ["Content-Type": "image/png"], body: snapshot.picture.png)
                response.isBodyShared = true
                response.isInSight = { snapshots.isInSight(snapshot) }
                completion(response)
            case .failure(let failure):
                completion(.sentence(.serviceUnavailable, "\(failure)", ["Retry-After": "1"]))
            }
        }
    }
}
