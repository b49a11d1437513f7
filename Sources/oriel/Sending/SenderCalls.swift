import Access
import Calls
import Helpers
import Media
import Peers
import Posix
import Sender
import Synchronization
import Time

/// The calls of a running sender: each comes, is lost, comes back, is left or ends by itself. Any thread may ask. Close it once.
final class SenderCalls: Sendable {
    private struct State {
        var list = CallList()
        /// The calls over plain RTP by their numbers.
        var plain: [Int: PlainRTPCall] = [:]
        /// The calls that others run by their numbers, until their servers know that they are over.
        var joined: [Int: any JoinedCall] = [:]
        var isClosed = false
    }

    /// How long servers get to hear that this side leaves.
    private static let farewellTime = Duration.milliseconds(500)

    private let network: CallNetwork
    private let codecs: [[VideoCodec]]
    private let introduction: (name: String, note: String)
    private let access: AccessControl
    private let stream: PlainRTPStream
    private let events: EventLog
    let sinks: Sinks
    private let state = Mutex(State())
    /// Rung when a call of another's is over.
    private let hasEnded = Bell()

    /// - Parameters:
    ///   - codecs: in groups; of each group, the other side of a call gets the first that it takes.
    ///   - introduction: what members of rooms are told of this side.
    ///   - access: where they wait until somebody lets them in, unless all are let in.
    ///   - stream: for calls over plain RTP.
    ///   - events: is told what happens in them.
    ///   - sinks: get the calls; their bell is rung when the last one is over.
    init(
        _ network: CallNetwork,
        codecs: [[VideoCodec]],
        introduction: (name: String, note: String),
        access: AccessControl,
        _ stream: PlainRTPStream,
        _ events: EventLog,
        sinks: Sinks
    ) {
        (self.network, self.codecs, self.stream) = (network, codecs, stream)
        (self.introduction, self.access) = (introduction, access)
        (self.events, self.sinks) = (events, sinks)
        network.onNetworkChange { [weak self] in
            for call in self?.state.withLock({ Array($0.joined.values) }) ?? [] { call.networkChanged() }
        }
        network.onSuspend { [weak self] time in
            for call in self?.state.withLock({ Array($0.joined.values) }) ?? [] { call.slept(for: time) }
        }
    }

    // MARK: - Beginning

    /// Takes in a call that somebody else runs and ends.
    func add(_ call: CallAddress) throws {
        _ = try state.withLock { try $0.list.begin(call, as: .standing, at: MonotonicClock.now()) }
    }

    /// Takes in a call over plain RTP, and closes it in the end.
    func add(_ call: CallAddress, _ plain: PlainRTPCall) throws {
        try state.withLock { state in
            let number = try state.list.begin(call, as: .standing, at: MonotonicClock.now())
            state.plain[number] = plain
        }
        sinks.add(plain)
    }

    /// Begins a call that a command asks for.
    ///
    /// - Parameter localPort: where plain RTP comes from; nil for any.
    func begin(_ call: CallAddress, _ secrets: CallSecrets, localPort: UInt16?) throws {
        switch call {
        case .plainRTP(let destination): try begin(call, to: destination, localPort: localPort)
        case .janus, .room, .whip: try join(call, secrets)
        case .web:
            throw Failure(
                .failed,
                "a sender that runs does not begin to serve web: attach another with \"oriel attach web\""
            )
        }
    }

    /// The host is looked up on a thread of its own.
    private func begin(_ call: CallAddress, to destination: RTPDestination, localPort: UInt16?) throws {
        if let localPort, !PlainRTPOptions.localPorts.contains(localPort) {
            throw Failure(.failed, "the local port \(localPort) is out of range")
        }
        let number = try state.withLock { try $0.list.begin(call, at: MonotonicClock.now()) }
        let begin = { @Sendable [self] in
            do throws(CallEnd) {
                let plain = try stream.begin(to: destination, localPort: localPort)
                sinks.add(plain)
                let isWanted = state.withLock { state in
                    guard !state.isClosed, state.list.note(.standing, of: number, at: MonotonicClock.now()) else {
                        return false
                    }
                    state.plain[number] = plain
                    return true
                }
                guard isWanted else {
                    sinks.remove(plain)
                    return plain.close()
                }
                events.tell(CallEvent(stream.report(plain, to: destination), in: call))
            } catch {
                take(.ended(error), of: call, number)
            }
        }
        do { _ = try Thread(begin) } catch {
            let sentence = Failure(describing: error)?.sentence ?? "\(error)"
            take(.ended(CallEnd(.failed, sentence)), of: call, number)
        }
    }

    /// Begins to join a call that others run.
    ///
    /// - Parameters:
    ///   - files: those that secrets are in; the others stay as they are.
    ///   - receiver: takes what the other side sends; nil if that is not wanted.
    func join(
        _ call: CallAddress,
        _ secrets: CallSecrets,
        in files: CallSecretFiles = CallSecretFiles(),
        receiver: (any FrameReceiver)? = nil
    ) throws {
        let (client, peers) = (try network.client(), try network.peers())
        let number = try state.withLock { try $0.list.begin(call, at: MonotonicClock.now()) }
        let report = { @Sendable [weak self] (report: CallReport) -> Void in self?.take(report, of: call, number) }
        let joined: any JoinedCall
        switch call {
        case .janus(let address):
            let current = { @Sendable in files.janus?.current() ?? secrets.janus }
            joined = JanusCall(to: address, current, codecs: codecs, by: client, to: peers, report: report)
        case .room(let address):
            joined = RoomCall(
                address,
                codecs: codecs,
                by: client,
                to: peers,
                receiver: receiver,
                access: access,
                name: introduction.name,
                note: introduction.note,
                report: report
            )
        case .whip(let endpoint):
            let servers = try network.namedServers()
            var current: (@Sendable () -> String?)?
            if let text = secrets.whipToken { current = { files.whipToken?.current() ?? text } }
            let find: WHIPCall.FindServers = { named, found in
                if let servers { return servers.find(named, for: "\(call)", found: found) }
                Console.note(
                    "\(call): relays that the server names are not used, as --relay-only is for those of --turn"
                )
            }
            joined = WHIPCall(
                to: endpoint,
                token: current,
                codecs: codecs,
                by: client,
                to: peers,
                findServers: find,
                report: report
            )
        case .plainRTP, .web: preconditionFailure("\(call) is not joined")
        }
        // It may be over already.
        state.withLock { state in if !state.list.isOver(number) { state.joined[number] = joined } }
    }

    // MARK: - Ending

    /// Leaves a call. Its server hears of it a little later.
    ///
    /// - Parameter name: as on a command line, or as people are told it.
    func leave(named name: String) throws {
        let known = state.withLock { state in
            state.list.entries.last { !$0.isOver && ($0.call.argument == name || "\($0.call)" == name) }?.call
        }
        guard let call = known ?? (try? CallAddress(parsing: name)) else {
            throw Failure(.failed, "no call of this sender has such a name: it has \(choices)")
        }
        try leave(call)
    }

    /// The calls that are not over, for people.
    private var choices: String {
        let names = names
        return names.isEmpty ? "none" : names.joined(separator: ", ")
    }

    private func leave(_ call: CallAddress) throws {
        if call == .web {
            throw Failure(.failed, "the call web ends with its sender only: \"oriel kick\" sends viewers away")
        }
        let choices = choices
        let (joined, plain) = try state.withLock { state in
            guard let number = state.list.number(of: call) else {
                throw Failure(.failed, "\(call) is no call of this sender: it has \(choices)")
            }
            state.list.note(.ended(nil), of: number, at: MonotonicClock.now())
            return (state.joined[number], state.plain.removeValue(forKey: number))
        }
        joined?.close()
        if let plain {
            sinks.remove(plain)
            plain.close()
        }
        events.tell(CallEvent(CallReport(.ended(nil), "\(call): left"), in: call))
        if areOver { sinks.bell.ring() }
    }

    /// Sends the other member of a room away.
    ///
    /// - Returns: whether there is such a member.
    func kick(_ id: ParticipantID) -> Bool {
        state.withLock { Array($0.joined.values) }.contains { ($0 as? RoomCall)?.kick(id) ?? false }
    }

    /// The key by which the other member of a room is recognized later; nil if it has none, or there is no such member.
    func guestKey(of id: ParticipantID) -> GuestKey? {
        state.withLock { Array($0.joined.values) }.lazy.compactMap { ($0 as? RoomCall)?.guestKey(of: id) }.first
    }

    // MARK: - While they run

    /// Takes what a call tells.
    private func take(_ report: CallReport, of call: CallAddress, _ number: Int) {
        if case .ended(let end) = report.event { return take(end, report, of: call, number) }
        events.tell(CallEvent(report, in: call))
        guard let news = CallList.State(report.event) else { return }
        state.withLock { _ = $0.list.note(news, of: number, at: MonotonicClock.now()) }
    }

    private func take(_ end: CallEnd?, _ report: CallReport, of call: CallAddress, _ number: Int) {
        let (isNews, isLast) = state.withLock { state in
            state.joined[number] = nil
            let isNews = state.list.note(.ended(end), of: number, at: MonotonicClock.now())
            return (isNews, state.list.areOver)
        }
        // The sentence of the last one is the sender's.
        if isNews { events.tell(CallEvent(isLast ? CallReport(report.event) : report, in: call)) }
        hasEnded.ring()
        if isLast { sinks.bell.ring() }
    }

    /// Whether none is left.
    var areOver: Bool { state.withLock(\.list.areOver) }

    /// Why the last one has ended; nil if it was left.
    var failure: CallEnd? { state.withLock(\.list.failure) }

    /// The calls that are not over, as people name them.
    var names: [String] { state.withLock { $0.list.entries.filter { !$0.isOver }.map { "\($0.call)" } } }

    var plain: [PlainRTPCall] { state.withLock { state in state.plain.sorted { $0.key < $1.key }.map(\.value) } }

    /// The peers of all calls; nil while there was no call that could have one.
    var peers: PeerGroup? { network.begun }

    /// The STUN and TURN servers that do not work, as far as is known.
    var serverFaults: [ServerNews] { network.serverFaults(of: names) }

    /// How each is, those that have ended lately among them.
    func statuses(at now: Instant) -> [SenderStatus.Call] {
        state.withLock { state in
            state.list.entries.map { entry in
                var status = SenderStatus.Call(entry, at: now)
                if let plain = state.plain[entry.number] {
                    status.sdp = stream.description(of: plain)
                    if !plain.statistics.receiverListening {
                        (status.state, status.reason) = (.away, "nobody listens there")
                    }
                }
                return status
            }
        }
    }

    // MARK: - The end

    /// Leaves all calls; gives servers a moment to hear of it.
    func close() {
        let (joined, plain) = state.withLock { state in
            state.isClosed = true
            return (Array(state.joined.values), state.plain)
        }
        for call in joined { call.close() }
        let deadline: Instant = MonotonicClock.now() + Self.farewellTime
        while true {
            let rings = hasEnded.count
            if state.withLock(\.joined.isEmpty) || MonotonicClock.now() >= deadline { break }
            hasEnded.wait(while: rings, until: deadline)
        }
        network.close()
        for (number, plain) in plain {
            plain.close()
            let call = state.withLock { $0.list.entries.first { $0.number == number }?.call }
            if let call { take(.ended(nil), of: call, number) }
        }
    }
}
