import HTTP
import Time

/// Hands the segments of one track to a server, one request at a time, by the rules of DASH-IF Live Media Ingest 1.2, Interface 1. Sans-IO.
struct CMAFUpload {
    struct Item: Equatable {
        /// After the address of the call.
        let name: String
        let bytes: [UInt8]
    }

    /// A request.
    struct Put: Equatable {
        let item: Item
        let url: WebURL
    }

    /// A server's response to it.
    struct Answer {
        var status: Int
        var retryAfter: Duration?
        /// Of a redirect.
        var location: String?
    }

    enum Output: Equatable {
        case put(Put)
        /// The server has taken something after a failure, or for the first time.
        case standing
        case away(String)
        case ended(CallEnd)
    }

    /// After an outage with more segments than these, all but the last are left out: people want the live edge.
    private let mostResent: Int
    /// Bytes of the segments that may wait. One segment may be longer.
    private static let mostWaiting = 64 << 20
    /// Attempts that a server may refuse, as it may be about to make room.
    private static let mostRefusals = 3
    private static let mostRedirects = 5
    private static let delays = Duration.milliseconds(250)...Duration.seconds(4)

    private enum State {
        case idle
        case sending(Item, isHeader: Bool, to: WebURL, redirects: Int)
        case resting(until: Instant)
        case ended
    }

    /// They come before the first segment.
    private let headers: [Item]
    private let endpoint: WebURL
    /// Where requests go: `endpoint`, or where that redirects to.
    private var place: WebURL
    private var state = State.idle
    private var missingHeaders: ArraySlice<Item>
    private var queue: [Item] = []
    private var backoff = Backoff(delays)
    private var refusals = 0
    /// Whether the segment under way is not to be sent again.
    private var isForgotten = false
    /// Whether the last segment was refused for want of headers that the server had taken.
    private var wantsHeaders = false
    private var isAway = true
    /// Whether the outage is so long that only the last segment counts.
    private var isLong = false
    private var outputs: [Output] = []

    /// - Parameters:
    ///   - endpoint: ends with a slash.
    ///   - most: segments that may wait during an outage; nil for as many as people want who see it live.
    init(_ headers: [Item], to endpoint: WebURL, keeping most: Double? = nil) {
        mostResent = max(3, Int(most ?? 0))
        (self.headers, missingHeaders) = (headers, headers[...])
        (self.endpoint, place) = (endpoint, endpoint)
        // A fault shows at once, and not with the first segment.
        proceed()
    }

    mutating func takeOutputs() -> [Output] { exchange(&outputs, with: []) }

    var deadline: Instant? { if case .resting(let until) = state { until } else { nil } }

    /// Whether nothing waits.
    var isDone: Bool {
        switch state {
        case .idle: queue.isEmpty
        case .ended: true
        case .sending, .resting: false
        }
    }

    mutating func add(_ item: Item) {
        if case .ended = state { return }
        queue.append(item)
        trim()
        proceed()
    }

    /// Forgets what was not sent. A request that is under way goes on, but nowhere else.
    mutating func forget() {
        queue = []
        if case .sending(_, isHeader: false, _, _) = state { isForgotten = true }
    }

    mutating func tick(at now: Instant) {
        guard case .resting(let until) = state, now >= until else { return }
        state = .idle
        proceed()
    }

    mutating func answered(_ answer: Answer, at now: Instant) {
        guard case .sending(let item, let isHeader, let url, let redirects) = state else { return }
        state = .idle
        defer { isForgotten = false }
        let (status, retryAfter, server) = (answer.status, answer.retryAfter, "\(url.origin)")
        switch status {
        case 301, 302, 307, 308:
            guard redirects < Self.mostRedirects else { return end(.failed, "\(server) redirects without end") }
            guard let next = answer.location.flatMap({ url.resolving($0) }) else {
                return end(.failed, "\(server) redirects to nowhere")
            }
            // What is on a screen stays secret.
            guard next.origin.isSecure || !url.origin.isSecure else {
                return end(.failed, "\(server) redirects to HTTP without TLS")
            }
            if let folder = next.folder(of: item.name) { place = folder }
            if isForgotten { break }
            return put(item, isHeader: isHeader, to: next, redirects: redirects + 1)
        case 200..<300:
            (refusals, isLong) = (0, false)
            if isHeader {
                missingHeaders = missingHeaders.dropFirst()
            } else {
                backoff.succeed()
                wantsHeaders = false
                if queue.first == item { queue.removeFirst() }
            }
            if isAway { outputs.append(.standing) }
            isAway = false
        case 412 where !isHeader && !wantsHeaders: (missingHeaders, wantsHeaders) = (headers[...], true)
        case 400 where !isHeader:
            // A segment that the server cannot read is left out.
            if queue.first == item { queue.removeFirst() }
        case 401, 403, 404:
            refusals += 1
            guard refusals < Self.mostRefusals else {
                return end(.refused, "\(server) refuses the stream (\(status)): \(advice(status, at: url))")
            }
            return rest("\(server) refuses the stream (\(status))", retryAfter, at: now)
        case 412:
            missingHeaders = headers[...]
            return rest("\(server) does not take the headers of the stream", retryAfter, at: now)
        case 408, 425, 429, 500...:
            return rest("\(server) does not take the stream now (\(status))", retryAfter, at: now)
        default: return end(.failed, "\(server) does not take this stream (\(status))")
        }
        proceed()
    }

    private func advice(_ status: Int, at url: WebURL) -> String {
        guard status == 401 else { return "see whether the address and its rights are right" }
        return endpoint.origin.shares(secretsWith: url.origin)
            ? "give its token with --push-token-file FILE"
            : "\(endpoint.origin) leads there, and the token is not for there: give that address, and the token for it"
    }

    mutating func failed(_ why: String, at now: Instant) {
        guard case .sending = state else { return }
        (state, isForgotten) = (.idle, false)
        // A server that was away may have forgotten the header, and another one may have its place.
        (missingHeaders, place) = (headers[...], endpoint)
        rest(why, nil, at: now)
    }

    private mutating func rest(_ why: String, _ wish: Duration?, at now: Instant) {
        isLong = isLong || queue.count > mostResent
        trim()
        outputs.append(.away(why))
        isAway = true
        state = .resting(until: now + max(backoff.fail(), min(wish ?? .zero, .seconds(60))))
    }

    private mutating func trim() {
        if isLong { queue = queue.suffix(1) }
        while queue.count > 1, queue.reduce(0, { $0 + $1.bytes.count }) > Self.mostWaiting {
            queue.removeFirst()
            if !isAway { outputs.append(.away("\(place.origin) takes the stream too slowly: segments are left out")) }
            isAway = true
        }
    }

    private mutating func end(_ kind: CallEnd.Kind, _ sentence: String) {
        (state, queue) = (.ended, [])
        outputs.append(.ended(CallEnd(kind, sentence)))
    }

    private mutating func proceed() {
        guard case .idle = state, let item = missingHeaders.first ?? queue.first,
            let url = place.resolving(item.name)
        else { return }
        put(item, isHeader: !missingHeaders.isEmpty, to: url, redirects: 0)
    }

    private mutating func put(_ item: Item, isHeader: Bool, to url: WebURL, redirects: Int) {
        state = .sending(item, isHeader: isHeader, to: url, redirects: redirects)
        outputs.append(.put(Put(item: item, url: url)))
    }
}

extension WebURL {
    /// The address that a name was added to; nil if it does not end with the name.
    fileprivate func folder(of name: String) -> WebURL? {
        target.hasSuffix("/\(name)") ? WebURL(parsing: String("\(self)".dropLast(name.count))) : nil
    }
}
