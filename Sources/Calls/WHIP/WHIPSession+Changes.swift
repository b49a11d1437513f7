package import HTTP
import NIOHTTP1
package import Time

extension WHIPSession {
    /// The server's session.
    struct Publication {
        enum Change {
            /// Candidates are on their way. `isAgain` means the second time, as the first had an older tag.
            case trickling(fragment: String, isAgain: Bool)
            /// The peer prepares another generation of ICE.
            case proposing
            /// The restart is on its way. `isAgain` means the second time, with the condition in another form.
            case restarting(fragment: String, isAgain: Bool)
        }

        /// Nil if it is not known (`sessionURL`). Then the session cannot be changed or deleted.
        let url: WebURL?
        /// The value of the server's field for this generation of ICE; nil if it gave none.
        var entityTag: String?
        /// Under way; nil for none. The next change waits for the answer.
        var change: Change?
        /// Candidates that wait.
        var fragment: String?
        var canTrickle = true
        var canRestart = true
        /// Whether the server is being asked if it still has the session.
        var isProbing = false
        /// Unexpected silences in a row.
        var silences = 0
    }

    /// After so many silences in a row, the path is lost.
    static let silencesOfLoss = 3

    private static let fragmentType = "application/trickle-ice-sdpfrag"

    /// The session's URL (RFC 9725 §4.2); nil if the response names another server. DELETE and PATCH requests go to the server that has
    /// answered, or to the same host by TLS.
    func sessionURL(in response: WebClient.Response, from url: WebURL) -> WebURL? {
        guard let session = response.headers.first(name: "location").flatMap({ url.resolving($0) }),
            url.origin.shares(secretsWith: session.origin)
        else { return nil }
        return session
    }

    // MARK: - Whether it is there

    /// The peer was silent for a while, longer each time. A server that was restarted answers that it does not know the session, long before
    /// ICE notices.
    package mutating func silent() {
        guard case .published(var publication) = state, !publication.isProbing, let url = publication.url else {
            return
        }
        publication.isProbing = true
        publication.silences += 1
        state = .published(publication)
        outputs.append(.probe(request(.OPTIONS, url)))
    }

    /// The machine was suspended, and its clock stood still. The server may have given up.
    package mutating func slept(for time: Duration, now: Instant) {
        if case .waiting(let until, let isAsked) = state { state = .waiting(until: until - time, isAsked: isAsked) }
        tick(now: now)
        if time >= Self.longestNap { silent() }
    }

    /// This side's addresses or routes have changed, so another attempt may succeed now.
    package mutating func networkChanged() {
        guard case .waiting(_, isAsked: false) = state else { return }
        backoff.succeed()
        start()
    }

    package mutating func heard() {
        guard case .published(var publication) = state else { return }
        (publication.isProbing, publication.silences) = (false, 0)
        state = .published(publication)
    }

    package mutating func probed(_ result: Result<WebClient.Response, WebClientError>, now: Instant) {
        guard case .published(var publication) = state, publication.isProbing else { return }
        publication.isProbing = false
        switch result {
        case .success(let response) where [404, 410].contains(response.status): lose(now: now)
        // If it cannot be asked, this side's own network may be gone for a while.
        case .failure(.refused(let origin)): retry("\(WebClientError.refused(origin))", now: now)
        case .success where publication.silences >= Self.silencesOfLoss && publication.canRestart:
            // It has the session, and another path may lead there.
            if publication.change == nil {
                publication.change = .proposing
                outputs.append(.propose)
            }
            state = .published(publication)
        case .success, .failure: state = .published(publication)
        }
    }

    private mutating func lose(now: Instant) { retry("\(endpoint.origin) has lost the session", now: now) }

    // MARK: - Changing it

    /// The peer has found candidates that were not in its offer. One fragment with all candidates is sent (RFC 9725 §4.3.2).
    package mutating func gathered(_ fragment: String) {
        guard case .published(var publication) = state, publication.canTrickle, publication.url != nil else { return }
        publication.fragment = fragment
        goOn(with: publication)
    }

    /// The peer has prepared another generation of ICE; nil if it cannot.
    package mutating func proposed(_ fragment: String?) {
        guard case .published(var publication) = state, case .proposing? = publication.change else { return }
        guard let fragment else {
            publication.change = nil
            return goOn(with: publication)
        }
        // Waiting candidates are of the former generation.
        publication.fragment = nil
        // RFC 9110 §13.1.1 has it bare, the example of RFC 9725 in quotes.
        send(fragment, .restarting(fragment: fragment, isAgain: false), if: "*", publication)
    }

    /// A change was answered, or has failed.
    package mutating func changed(_ result: Result<WebClient.Response, WebClientError>, now: Instant) {
        guard case .published(var publication) = state, let change = publication.change else { return }
        let response = try? result.get()
        switch (change, response?.status) {
        case (.proposing, _): return
        case (_, 404), (_, 410): return lose(now: now)
        case (.restarting, 200):
            publication.entityTag = response?.headers.first(name: "etag") ?? publication.entityTag
            outputs.append(.acceptProposal(fragment: String(decoding: response?.body ?? [], as: UTF8.self)))
        case (.restarting(let fragment, isAgain: false), 412):
            return send(fragment, .restarting(fragment: fragment, isAgain: true), if: "\"*\"", publication)
        case (.restarting, let status):
            outputs.append(.abandonProposal)
            if let status, [405, 412, 415, 422, 428, 501].contains(status) { publication.canRestart = false }
        case (.trickling(let fragment, isAgain: false), 412):
            // The tag has changed on the server's side.
            if let tag = response?.headers.first(name: "etag"), tag != publication.entityTag {
                publication.entityTag = tag
                return send(fragment, .trickling(fragment: fragment, isAgain: true), if: tag, publication)
            }
        // §4.3.1: neither, or the other one alone.
        case (.trickling, 405), (.trickling, 501): (publication.canTrickle, publication.canRestart) = (false, false)
        case (.trickling, 415), (.trickling, 422), (.trickling, 428): publication.canTrickle = false
        // The peer's own checks tell the server of a candidate, too.
        case (.trickling, _): break
        }
        publication.change = nil
        goOn(with: publication)
    }

    private mutating func goOn(with publication: Publication) {
        var publication = publication
        guard publication.change == nil, publication.canTrickle, let fragment = publication.fragment.take() else {
            state = .published(publication)
            return
        }
        send(fragment, .trickling(fragment: fragment, isAgain: false), if: publication.entityTag, publication)
    }

    /// - Parameter condition: the value of `If-Match`; nil for none.
    private mutating func send(
        _ fragment: String,
        _ change: Publication.Change,
        if condition: String?,
        _ publication: Publication
    ) {
        guard let url = publication.url else { return }
        var publication = publication
        publication.change = change
        state = .published(publication)
        var patch = request(.PATCH, url)
        patch.headers.add(name: "Content-Type", value: Self.fragmentType)
        if let condition { patch.headers.add(name: "If-Match", value: condition) }
        patch.body = fragment
        outputs.append(.change(patch))
    }
}
