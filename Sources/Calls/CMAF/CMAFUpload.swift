import Time

/// Hands the segments of one track to a server, one request at a time, by the rules of DASH-IF Live Media Ingest 1.2, Interface 1. Sans-IO.
struct CMAFUpload {
    struct Item: Equatable {
        /// After the address of the call.
        let name: String
        let bytes: [UInt8]
    }

    enum Output: Equatable {
        case put(Item)
        /// The server has taken something after a failure, or for the first time.
        case standing
        case away(String)
        case ended(CallEnd)
    }

    /// After an outage with more segments than these, all but the last are left out: people want the live edge.
    private static let mostResent = 3
    /// Attempts that a server may refuse, as it may be about to make room.
    private static let mostRefusals = 3
    private static let delays = Duration.milliseconds(250)...Duration.seconds(4)

    private enum State {
        case idle
        case sending(Item, isHeader: Bool)
        case resting(until: Instant)
        case ended
    }

    /// They come before the first segment.
    private let headers: [Item]
    private var state = State.idle
    private var missingHeaders: ArraySlice<Item>
    private var queue: [Item] = []
    private var backoff = Backoff(delays)
    private var refusals = 0
    /// Whether the last segment was refused for want of headers that the server had taken.
    private var wantsHeaders = false
    private var isAway = true
    /// Whether the outage is so long that only the last segment counts.
    private var isLong = false
    private var outputs: [Output] = []

    init(_ headers: [Item]) { (self.headers, missingHeaders) = (headers, headers[...]) }

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

    /// Forgets what was not sent. A request that is under way goes on.
    mutating func forget() { queue = [] }

    mutating func tick(at now: Instant) {
        guard case .resting(let until) = state, now >= until else { return }
        state = .idle
        proceed()
    }

    mutating func answered(_ status: Int, retryAfter: Duration?, server: String, at now: Instant) {
        guard case .sending(let item, let isHeader) = state else { return }
        state = .idle
        switch status {
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
        case 403, 404:
            refusals += 1
            guard refusals < Self.mostRefusals else {
                return end(
                    .refused,
                    "\(server) refuses the stream (\(status)): see whether the address and its rights are right"
                )
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

    mutating func failed(_ why: String, at now: Instant) {
        guard case .sending = state else { return }
        state = .idle
        // A server that was away may have forgotten the header.
        missingHeaders = headers[...]
        rest(why, nil, at: now)
    }

    private mutating func rest(_ why: String, _ wish: Duration?, at now: Instant) {
        isLong = isLong || queue.count > Self.mostResent
        trim()
        outputs.append(.away(why))
        isAway = true
        state = .resting(until: now + max(backoff.fail(), min(wish ?? .zero, .seconds(60))))
    }

    private mutating func trim() { if isLong { queue = queue.suffix(1) } }

    private mutating func end(_ kind: CallEnd.Kind, _ sentence: String) {
        (state, queue) = (.ended, [])
        outputs.append(.ended(CallEnd(kind, sentence)))
    }

    private mutating func proceed() {
        guard case .idle = state, let first = queue.first else { return }
        let item = missingHeaders.first ?? first
        state = .sending(item, isHeader: !missingHeaders.isEmpty)
        outputs.append(.put(item))
    }
}
