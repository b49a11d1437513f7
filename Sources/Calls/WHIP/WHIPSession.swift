package import HTTP
package import NIOHTTP1
package import Time

/// Publishes to a media server by WHIP (RFC 9725): posts an offer, takes the answer, and deletes the session at the end. A lost publication
/// is made again. Sans-IO: after each call perform the result of `takeOutputs`, and call `tick` at `nextDeadline`.
package struct WHIPSession: Sendable {
    package struct Request: Sendable, Equatable {
        package var method: HTTPMethod
        package var url: WebURL
        package var headers: HTTPHeaders
        package var body: String
        /// Whether the bearer token is added when it is sent.
        package var isAuthorized: Bool
    }

    package enum Output: Sendable, Equatable {
        /// Have a peer offer, and pass that on with `described`.
        case offer
        case closePeer
        /// Make a request, and pass the answer on with `answered` or `failed`.
        case request(Request)
        /// Make a request, and pass the answer on with `changed`.
        case change(Request)
        /// Make a request, and pass the answer on with `probed`.
        case probe(Request)
        /// Make a request. Its answer is of no interest.
        case farewell(Request)
        case accept(sdp: String)
        /// Have the peer use servers that the media server names, and pass their candidates on with `gathered`.
        case use([NamedICEServer])
        /// A part of the server's answer cannot be used, or is missing. The text is for people.
        case unusable(String)
        /// Have the peer prepare another generation of ICE, and pass that on with `proposed`.
        case propose
        /// Have the peer take the answer to that, or forget it.
        case acceptProposal(fragment: String)
        case abandonProposal
        /// The call is lost for now, and tried again after a time.
        case retrying(why: String, after: Duration)
        /// The last output; nil if it was left.
        case ended(CallEnd?)
    }

    enum State {
        case idle
        /// The peer is describing itself.
        case offering
        /// The offer is on its way, after so many redirects.
        case posting(offer: String, WebURL, redirects: Int)
        /// The server has a session.
        case published(Publication)
        /// `isAsked` means that the server wants this wait.
        case waiting(until: Instant, isAsked: Bool)
        /// The call was left while the offer was on its way. A session that the server makes of it is deleted.
        case leaving(from: WebURL)
        case ended
    }

    private static let mostRedirects = 5
    private static let shortestPause = Duration.seconds(1)
    /// A machine that slept for less finds its sessions as it left them.
    static let longestNap = Duration.seconds(30)
    /// Servers may ask for more patience than people have.
    private static let longestRetryAfter = Duration.seconds(60)
    /// The longest time for a renewal of a token that was accepted before.
    private static let renewalTime = Duration.seconds(60)

    let endpoint: WebURL
    private let hasToken: Bool
    var state = State.idle
    var backoff = Backoff(shortestPause...(.seconds(8)))
    /// Whether the server has ever taken an offer.
    private var wasPublished = false
    /// When a token was first refused that was accepted before.
    private var refusedSince: Instant?
    var outputs: [Output] = []

    /// - Parameter hasToken: whether there is a bearer token. It is sent to the endpoint's own host alone.
    package init(_ endpoint: WebURL, hasToken: Bool) { (self.endpoint, self.hasToken) = (endpoint, hasToken) }

    package var nextDeadline: Instant? { if case .waiting(let until, _) = state { until } else { nil } }

    package mutating func takeOutputs() -> [Output] { exchange(&outputs, with: []) }

    // MARK: - Events

    package mutating func start() {
        state = .offering
        outputs.append(.offer)
    }

    package mutating func tick(now: Instant) { if case .waiting(let until, _) = state, until <= now { start() } }

    /// The peer has made its offer.
    package mutating func described(_ sdp: String) {
        guard case .offering = state else { return }
        post(sdp, to: endpoint, redirects: 0)
    }

    /// The server has answered the offer. Unknown statuses count by their class (RFC 9725 §4.1).
    package mutating func answered(_ response: WebClient.Response, now: Instant) {
        if case .leaving(let url) = state { return finishLeaving(response, from: url) }
        guard case .posting(let offer, let url, let redirects) = state else { return }
        let (status, reason) = ("status \(response.status)", reason(response))
        let asked = response.retryAfter.map { min($0, Self.longestRetryAfter) }
        switch response.status {
        case 201: take(response, from: url, now: now)
        case 307, 308: follow(response, with: offer, from: url, redirects)
        case 300...399: end(.failed, "redirects as WHIP does not (\(status)): give the address that it leads to")
        case 401, 403: refused(response, by: url, now: now)
        case 404, 405, 410, 501, 505:
            end(.unavailable, "is no endpoint of WHIP\(reason) (\(status)): check the address")
        case 408, 409, 425, 429, 503:
            retry("\(url.origin) has no room now\(reason) (\(status))", after: asked, now: now)
        case 400...499: end(.failed, "does not take the offer\(reason) (\(status))")
        case 500...599:
            retry(
                "\(url.origin) has failed\(reason) (\(status)): tell its administrator if it stays so",
                after: asked,
                now: now
            )
        default: end(.failed, "answers with \(status), as no endpoint of WHIP does: check the address")
        }
    }

    /// A request found no answer.
    package mutating func failed(_ error: WebClientError, now: Instant) {
        if case .leaving = state { return finish(nil) }
        guard case .posting = state else { return }
        switch error {
        // It was trusted before: another network may answer in its place.
        case .untrusted where wasPublished: retry("\(error)", now: now)
        case .untrusted, .trust: finish(CallEnd(.failed, "\(error)"))
        case .refused, .unreachable, .broken, .silent, .tooLarge:
            if !wasPublished { return finish(CallEnd(.unavailable, "\(error)")) }
            // A server that restarts is there soon.
            retry("\(error)", after: Self.shortestPause, now: now)
        }
    }

    /// There are keys, so media arrive.
    package mutating func connected() { backoff.succeed() }

    /// The peer has ended, or there will be none.
    ///
    /// - Parameter why: as in "is out of reach".
    package mutating func peerEnded(_ why: String, isFinal: Bool, now: Instant) {
        switch state {
        case .published(let publication):
            delete(publication)
            fallthrough
        case .offering, .posting:
            if isFinal { return finish(CallEnd(.failed, "\(endpoint.origin) \(why)")) }
            retry("\(endpoint.origin) \(why)", now: now)
        case .idle, .waiting, .leaving, .ended: break
        }
    }

    /// Leaves. `ended` follows when the server knows, if it has to.
    package mutating func leave() {
        switch state {
        case .published(let publication):
            delete(publication)
            finish(nil)
        case .posting(_, let url, _): state = .leaving(from: url)
        case .idle, .offering, .waiting: finish(nil)
        case .leaving, .ended: break
        }
    }

    // MARK: - Between them

    private mutating func delete(_ publication: Publication) {
        if let url = publication.url { outputs.append(.farewell(request(.DELETE, url))) }
    }

    private mutating func finishLeaving(_ response: WebClient.Response, from url: WebURL) {
        if response.status == 201, let session = sessionURL(in: response, from: url) {
            outputs.append(.farewell(request(.DELETE, session)))
        }
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

    func request(_ method: HTTPMethod, _ url: WebURL) -> Request {
        Request(method: method, url: url, headers: [:], body: "", isAuthorized: isAuthorized(at: url))
    }

    private func isAuthorized(at url: WebURL) -> Bool { hasToken && endpoint.origin.shares(secretsWith: url.origin) }

    private mutating func follow(
        _ response: WebClient.Response,
        with offer: String,
        from url: WebURL,
        _ redirects: Int
    ) {
        guard redirects < Self.mostRedirects else { return end(.failed, "redirects without end") }
        guard let place = response.headers.first(name: "location").flatMap({ url.resolving($0) }) else {
            return end(.failed, "redirects to nowhere")
        }
        // A secret offer stays secret.
        guard place.origin.isSecure || !url.origin.isSecure else {
            return end(.failed, "redirects to HTTP without TLS")
        }
        post(offer, to: place, redirects: redirects + 1)
    }

    /// The server's words, without the key of the stream in the address.
    private func reason(_ response: WebClient.Response) -> String { response.reason(hiding: endpoint.secrets) }

    private mutating func refused(_ response: WebClient.Response, by url: WebURL, now: Instant) {
        let (status, reason) = (response.status, reason(response))
        guard hasToken else {
            return end(.failed, "wants a token\(reason): give it with --whip-token-file FILE (status \(status))")
        }
        guard isAuthorized(at: url) else {
            return end(
                .failed,
                "redirects to \(url.summary), which wants a token\(reason) (status \(status)), and the token is not for there: "
                    + "give that address, and the token for it"
            )
        }
        guard wasPublished else {
            return end(.failed, "refuses the token\(reason) (status \(status)): give another one")
        }
        // Its renewal may be late.
        let since = refusedSince ?? now
        refusedSince = since
        guard now < since + Self.renewalTime else {
            return end(.failed, "refuses the token, which it took before\(reason) (status \(status)): renew the token")
        }
        retry("\(url.origin) refuses the token, which it took before\(reason) (status \(status))", now: now)
    }

    /// RFC 9725 §4.2: the answer, and where the session is, which some servers leave out.
    private mutating func take(_ response: WebClient.Response, from url: WebURL, now: Instant) {
        let session = sessionURL(in: response, from: url)
        state = .published(Publication(url: session, entityTag: response.headers.first(name: "etag")))
        (wasPublished, refusedSince) = (true, nil)
        guard let sdp = String(validating: response.body, as: UTF8.self), !sdp.isEmpty else {
            return peerEnded("has sent an answer that is no text", isFinal: true, now: now)
        }
        outputs.append(.accept(sdp: sdp))
        if session == nil {
            let flaw =
                response.headers.contains(name: "location")
                ? "places the session on another server" : "does not say where the session is"
            outputs.append(
                .unusable(
                    "the server \(flaw) (Location): it does not learn when this side leaves, "
                        + "and ICE cannot restart when the path is lost"
                )
            )
        }
        let (servers, flaws) = NamedICEServer.servers(in: LinkHeader.links(in: response.headers["link"]))
        if !servers.isEmpty { outputs.append(.use(servers)) }
        if !flaws.isEmpty {
            let names = flaws.map { "\($0)" }.joined(separator: ", ")
            outputs.append(.unusable("the server names relays that cannot be used: \(names)"))
        }
    }

    mutating func retry(_ why: String, after asked: Duration? = nil, now: Instant) {
        let pause = backoff.fail()
        let wait = max(asked ?? pause, Self.shortestPause)
        state = .waiting(until: now + wait, isAsked: asked != nil && wait > Self.shortestPause)
        outputs += [.closePeer, .retrying(why: why, after: wait)]
    }

    private mutating func end(_ kind: CallEnd.Kind, _ why: String) {
        finish(CallEnd(kind, "\(endpoint.summary) \(why)"))
    }

    private mutating func finish(_ end: CallEnd?) {
        state = .ended
        outputs += [.closePeer, .ended(end)]
    }
}
