import Access
import Control
package import HTTP
import JSON
import NIOHTTP1

/// Answers viewers' browsers and programs by HTTP: WHEP, the page, snapshots and status. Close it before the call.
package final class WebService: Sendable {
    typealias Completion = @Sendable (HTTPResponse) -> Void

    /// Before the name of a session.
    private static let viewerPrefix = "/api/viewers/"
    /// Paths for viewers that are let in.
    private static let admittedPaths: Set = ["/snapshot.png", "/api/status", "/api/events", "/capabilities"]

    private let status: WebStatus
    private let access: AccessControl
    private let door: WebDoor
    private let origins: OriginGuard
    private let whep: WHEPEndpoint
    private let snapshots: SnapshotDesk
    private let recorders: RecorderEndpoint
    private let commands: CommandDesk

    package init(_ settings: WebSettings, call: WebCall) {
        (status, access) = (settings.status, call.access)
        door = WebDoor(call.access)
        origins = OriginGuard(names: settings.names, allowed: settings.origins)
        whep = WHEPEndpoint(
            call: call,
            status: status,
            commands: settings.commands,
            iceServerLinks: settings.iceServerLinks
        )
        snapshots = SnapshotDesk(settings.snapshots)
        recorders = RecorderEndpoint(settings.recorders)
        commands = settings.commands
    }

    /// Waits until nobody waits for a snapshot. Later requests for one are refused.
    package func close() { snapshots.close() }

    // MARK: - Routes

    /// - Parameter completion: called once, on any thread.
    package func respond(to request: HTTPRequest, completion: @escaping @Sendable (HTTPResponse) -> Void) {
        route(request) { [self] response in completion(decorated(response.asProblem(for: request), for: request)) }
    }

    private func route(_ request: HTTPRequest, _ completion: @escaping Completion) {
        // Without a token, only the name and the origin of a request protect the service.
        if !access.needsToken, let refusal = origins.refusal(of: request) { return completion(refusal) }
        guard let methods = Self.methods(of: request.path) else {
            return completion(.sentence(.notFound, "there is nothing at \(request.path)"))
        }
        if request.method == .OPTIONS { return completion(options(request, methods)) }
        if let page = WebPage.response(to: request.path) {
            // Anybody may see it: by a page, viewers show their tokens and knock.
            return completion(Self.refusal(of: request, methods) ?? page)
        }
        let link: AccessEngine.Link
        switch door.entry(of: request, isForSession: whep.isForSession(request)) {
        case .open(let shown): link = shown
        case .closed(let refusal): return completion(refusal)
        }
        if let refusal = Self.refusal(of: request, methods) ?? refusal(of: request, by: link) {
            return completion(refusal)
        }
        respond(to: request, by: link, completion)
    }

    private func respond(to request: HTTPRequest, by link: AccessEngine.Link, _ completion: @escaping Completion) {
        switch request.path {
        case WHEPEndpoint.path: whep.join(request, by: link, completion)
        case "/snapshot.png": snapshot(by: link, completion)
        case "/api/status": completion(Self.json(status.json))
        case "/capabilities": completion(capabilities(by: link))
        case "/api/events": completion(eventStream(by: link))
        case _ where request.path.hasPrefix(Self.viewerPrefix):
            let session = String(request.path.dropFirst(Self.viewerPrefix.count))
            whep.call.noteRequest(of: session)
            let report = whep.call.report(on: session, status.work)
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
        case "/snapshot.png", "/api/status", "/capabilities": [.GET, .HEAD]
        case "/api/events": [.GET]
        case _ where path.hasPrefix(viewerPrefix): [.GET, .HEAD]
        case "*": []
        default:
            RecorderEndpoint.deed(of: path)?.methods ?? WHEPEndpoint.session(of: path)?.deed.methods
                ?? (WebPage.response(to: path) == nil ? nil : [.GET, .HEAD])
        }
    }

    // MARK: - Access

    private static func refusal(of request: HTTPRequest, _ methods: [HTTPMethod]) -> HTTPResponse? {
        if methods.contains(request.method) { return nil }
        let names = names(methods)
        return .sentence(.methodNotAllowed, "\(request.path) takes \(names) only", ["Allow": names])
    }

    /// The refusal of a request by somebody without a right; nil if it is answered. A viewer that has to knock may make an offer.
    private func refusal(of request: HTTPRequest, by link: AccessEngine.Link) -> HTTPResponse? {
        let isAboutRecorders = RecorderEndpoint.deed(of: request.path) != nil
        if isAboutRecorders || Self.admittedPaths.contains(request.path), !door.isLetIn(request, by: link) {
            return .sentence(.forbidden, "ask to be let in first", ["Oriel-Reason": "knock"])
        }
        if isAboutRecorders, !access.read({ $0.rights(by: link).contains(.record) }) {
            return .sentence(.forbidden, "viewers may not record here", ["Oriel-Reason": "right"])
        }
        return nil
    }

    /// Answers OPTIONS. Browsers ask without the token before a page of another origin does anything; a client that shows the
    /// token, as some players do, learns the ICE servers (RFC 9725 §4.6).
    private func options(_ request: HTTPRequest, _ methods: [HTTPMethod]) -> HTTPResponse {
        let isKnown = !access.needsToken || request.headers.contains(name: "authorization")
        var link = AccessEngine.Link.common
        if isKnown {
            switch door.entry(of: request, isForSession: whep.isForSession(request)) {
            case .open(let shown): link = shown
            case .closed(let refusal): return refusal
            }
        }
        var headers: HTTPHeaders = [
            "Allow": Self.names(methods),
            "Accept-Post": WHEPEndpoint.offerType,
            "Accept-Patch": WHEPEndpoint.fragmentType,
        ]
        if isKnown, door.isLetIn(request, by: link), request.path == WHEPEndpoint.path {
            whep.add(iceServersTo: &headers)
        }
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

    private func capabilities(by link: AccessEngine.Link) -> HTTPResponse {
        guard let document = commands.capabilities(for: access.read { $0.rights(by: link) }),
            let json = try? document.jsonLine()
        else { return .sentence(.serviceUnavailable, "the broadcast is starting", ["Retry-After": "1"]) }
        return Self.json(json)
    }

    private func eventStream(by link: AccessEngine.Link) -> HTTPResponse {
        // Proxies shall not hold back events (nginx).
        var response = HTTPResponse(.ok, ["Content-Type": "text/event-stream", "X-Accel-Buffering": "no"])
        response.body = .events(status.events)
        if link != .common { response.isInSight = { [access] in access.read { $0.rights(by: link).contains(.watch) } } }
        return response
    }

    private func snapshot(by link: AccessEngine.Link, _ completion: @escaping Completion) {
        snapshots.take { [snapshots, access] snapshot in
            switch snapshot {
            case .success(let snapshot):
                var response = HTTPResponse(.ok, ["Content-Type": "image/png"], body: snapshot.picture.png)
                response.isBodyShared = true
                response.isInSight = {
                    snapshots.isInSight(snapshot) && access.read { $0.rights(by: link).contains(.watch) }
                }
                completion(response)
            case .failure(let failure):
                completion(.sentence(.serviceUnavailable, "\(failure)", ["Retry-After": "1"]))
            }
        }
    }
}
