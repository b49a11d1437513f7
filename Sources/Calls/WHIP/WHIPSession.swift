package import HTTP
package import NIOHTTP1
package import Time

/// Publishes to a media server by WHIP (RFC 9725): an offer is posted, the answer taken, and the session deleted at the end. What
/// is lost is published again. Sans-IO: after each call, do what `takeOutputs` says, and call `tick` when `nextDeadline` comes.
package struct WHIPSession: Sendable {
    package struct Request: Sendable, Equatable {
        package var method: HTTPMethod
        package var url: WebURL
        package var headers: HTTPHeaders
        package var body: String
    }

    package enum Output: Sendable, Equatable {
        /// Have a peer offer, and pass that on with `described`.
        case offer
        case closePeer
        /// Make a request, of which the answer is passed on with `answered` or `failed`.
        case request(Request)
        /// Make a request, of which the answer is passed on with `probed`.
        case probe(Request)
        /// Make a request, of which nothing is wanted but that it arrives.
        case farewell(Request)
        case accept(sdp: String)
        /// What went wrong for now, and in how long it is tried again.
        case retrying(why: String, after: Duration)
        /// The last output; nil if it was left.
        case ended(CallEnd?)
    }

    private enum State {
        case idle
        /// The peer is describing itself.
        case offering
        /// The offer is on its way, after so many redirects.
        case posting(offer: String, WebURL, redirects: Int)
        /// The server has a session; whether it is being asked if it still has.
        case published(WebURL, isProbing: Bool)
        case waiting(until: Instant)
        /// It was left while the offer was on its way there: a session that the server makes of it is deleted.
        case leaving(from: WebURL)
        case ended
    }

    private static let mostRedirects = 5
    private static let (shortestPause, longestPause) = (Duration.seconds(1), Duration.seconds(8))
    /// Servers may ask for more patience than people have.
    private static let longestRetryAfter = Duration.seconds(60)

    private let endpoint: WebURL
    private let token: String?
    private var state = State.idle
    private var pause = Self.shortestPause
    /// Whether the server has ever taken an offer.
    private var wasPublished = false
    private var outputs: [Output] = []

    /// - Parameter token: a bearer token, which goes to the endpoint's own host alone; nil for none.
    package init(_ endpoint: WebURL, token: String?) { (self.endpoint, self.token) = (endpoint, token) }

    package var nextDeadline: Instant? { if case .waiting(let until) = state { until } else { nil } }

    package mutating func takeOutputs() -> [Output] {
        defer { outputs = [] }
        return outputs
    }

    // MARK: - What happens

    package mutating func start() {
        state = .offering
        outputs.append(.offer)
    }

    package mutating func tick(now: Instant) { if case .waiting(let until) = state, until <= now { start() } }

    /// The peer has made its offer.
    package mutating func described(_ sdp: String) {
        guard case .offering = state else { return }
        post(sdp, to: endpoint, redirects: 0)
    }

    package mutating func answered(_ response: WebClient.Response, now: Instant) {
        if case .leaving(let url) = state { return finishLeaving(response, from: url) }
        guard case .posting(let offer, let url, let redirects) = state else { return }
        switch response.status {
        case 201: take(response, from: url, now: now)
        case 307, 308:
            guard redirects < Self.mostRedirects else { return end(.failed, "redirects without end") }
            guard let place = response.headers.first(name: "location").flatMap({ url.resolving($0) }) else {
                return end(.failed, "redirects to nowhere")
            }
            // What was secret on its way stays so.
            guard place.origin.isSecure || !url.origin.isSecure else {
                return end(.failed, "redirects to HTTP without TLS")
            }
            post(offer, to: place, redirects: redirects + 1)
        case 401, 403:
            let advice = token == nil ? "wants a token: give it with --whip-token-file FILE" : "refuses the token"
            end(.failed, "\(advice) (status \(response.status))")
        case 404, 405, 410: end(.unavailable, "is no endpoint of WHIP (status \(response.status)): check the address")
        case 400, 406, 415, 422:
            end(.failed, "does not take the offer\(Self.reason(response)) (status \(response.status))")
        case 409, 429, 500...599:
            let asked = response.headers.first(name: "retry-after").flatMap { UInt32($0) }
                .map { min(Duration.seconds(Int($0)), Self.longestRetryAfter) }
            retry("\(endpoint.origin) has no room now (status \(response.status))", after: asked, now: now)
        case let status: end(.failed, "answers with status \(status), as no endpoint of WHIP does")
        }
    }

    /// A request found no answer.
    package mutating func failed(_ error: WebClientError, now: Instant) {
        if case .leaving = state { return finish(nil) }
        guard case .posting = state else { return }
        switch error {
        case .untrusted, .trust: finish(CallEnd(.failed, "\(error)"))
        case .refused, .unreachable, .broken, .silent, .tooLarge:
            if !wasPublished { return finish(CallEnd(.unavailable, "\(error)")) }
            // A server that is started again is there soon.
            retry("\(error)", after: Self.shortestPause, now: now)
        }
    }

    /// There are keys: what is sent arrives.
    package mutating func connected() { pause = Self.shortestPause }

    /// Nothing was heard of the peer for a while: a server that has died and come back says that it knows the session no more,
    /// long before ICE does.
    package mutating func silent() {
        guard case .published(let session, isProbing: false) = state else { return }
        state = .published(session, isProbing: true)
        outputs.append(.probe(request(.OPTIONS, session)))
    }

    /// It is there after all.
    package mutating func heard() {
        if case .published(let session, isProbing: true) = state { state = .published(session, isProbing: false) }
    }

    package mutating func probed(_ result: Result<WebClient.Response, WebClientError>, now: Instant) {
        guard case .published(let session, isProbing: true) = state else { return }
        switch result {
        case .success(let response) where [404, 410].contains(response.status):
            retry("\(endpoint.origin) has lost the session", after: nil, now: now)
        // Where it cannot be asked, this side's own network may be gone for a while.
        case .failure(.refused(let origin)): retry("\(WebClientError.refused(origin))", after: nil, now: now)
        case .success, .failure: state = .published(session, isProbing: false)
        }
    }

    /// The peer has ended, or there will be none.
    ///
    /// - Parameters:
    ///   - why: as in "is out of reach".
    ///   - isFinal: whether another attempt would end like this one.
    package mutating func peerEnded(_ why: String, isFinal: Bool, now: Instant) {
        switch state {
        case .published(let session, _):
            outputs.append(.farewell(request(.DELETE, session)))
            fallthrough
        case .offering, .posting:
            if isFinal { return finish(CallEnd(.failed, "\(endpoint.origin) \(why)")) }
            retry("\(endpoint.origin) \(why)", after: nil, now: now)
        case .idle, .waiting, .leaving, .ended: break
        }
    }

    /// `ended` follows when the server knows, as far as it must.
    package mutating func leave() {
        switch state {
        case .published(let session, _):
            outputs.append(.farewell(request(.DELETE, session)))
            finish(nil)
        case .posting(_, let url, _): state = .leaving(from: url)
        case .idle, .offering, .waiting: finish(nil)
        case .leaving, .ended: break
        }
    }

    // MARK: - Between them

    private mutating func finishLeaving(_ response: WebClient.Response, from url: WebURL) {
        let session = response.headers.first(name: "location").flatMap { url.resolving($0) }
        if response.status == 201, let session { outputs.append(.farewell(request(.DELETE, session))) }
        finish(nil)
    }

    private mutating func post(_ offer: String, to url: WebURL, redirects: Int) {
        state = .posting(offer: offer, url, redirects: redirects)
        var post = request(.POST, url)
        post.headers.add(name: "Content-Type", value: "application/sdp")
        post.headers.add(name: "Accept", value: "application/sdp")
        post.body = offer
        outputs.append(.request(post))
    }

    private func request(_ method: HTTPMethod, _ url: WebURL) -> Request {
        var headers = HTTPHeaders()
        if let token, endpoint.origin.shares(secretsWith: url.origin) {
            headers.add(name: "Authorization", value: "Bearer \(token)")
        }
        return Request(method: method, url: url, headers: headers, body: "")
    }

    /// RFC 9725 §4.2: the answer, and where the session is.
    private mutating func take(_ response: WebClient.Response, from url: WebURL, now: Instant) {
        let session = response.headers.first(name: "location").flatMap { url.resolving($0) }
        guard let session else { return end(.failed, "does not say where the session is") }
        state = .published(session, isProbing: false)
        wasPublished = true
        guard let sdp = String(validating: response.body, as: UTF8.self), !sdp.isEmpty else {
            return peerEnded("has sent an answer that is no text", isFinal: true, now: now)
        }
        outputs.append(.accept(sdp: sdp))
    }

    private mutating func retry(_ why: String, after asked: Duration?, now: Instant) {
        let wait = asked.map { max($0, Self.shortestPause) } ?? pause
        pause = min(pause * 2, Self.longestPause)
        state = .waiting(until: now + wait)
        outputs += [.closePeer, .retrying(why: why, after: wait)]
    }

    private mutating func end(_ kind: CallEnd.Kind, _ why: String) { finish(CallEnd(kind, "\(endpoint) \(why)")) }

    private mutating func finish(_ end: CallEnd?) {
        state = .ended
        outputs += [.closePeer, .ended(end)]
    }

    /// What a server says in a line of text, in parentheses.
    private static func reason(_ response: WebClient.Response) -> String {
        guard response.headers.first(name: "content-type")?.lowercased().hasPrefix("text/plain") ?? false else {
            return ""
        }
        let words = String(quoting: String(decoding: response.body, as: UTF8.self))
        return words.isEmpty ? "" : ": \(words)"
    }
}
