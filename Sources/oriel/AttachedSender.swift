import Calls
import FrameBridge
import Glibc
import HTTP
import Media
import Peers
import Posix
import Sender

/// Sends into any number of calls. Those that take the same rendition share its encode.
extension Attach {
    /// Most plain receivers cannot ask for a keyframe.
    private static let plainKeyframeInterval = Duration.seconds(5)

    func send(
        _ reader: consuming FrameReader,
        log: StatisticsLog?,
        _ events: EventLog,
        _ rendering: consuming PreparedRendering,
        until signals: borrowing TerminationSignals
    ) throws -> SenderLoop.End {
        let directory = try broadcast.directory()
        let horizon = reader.horizon
        let renditions = video.renditions(fps: fps)
        let joinedCalls = calls.filter(\.isJoined)
        let isWeb = calls.contains(.web)
        var ice = isWeb || !joinedCalls.isEmpty ? try web.ice() : nil
        let preparation =
            try isWeb ? ice.map { try WebCallPreparation(web, entry, iceServerLinks: $0.links, in: directory) } : nil
        let trust = try joinedCalls.isEmpty ? nil : TLSTrust(alsoTrusting: web.trust)
        let relayTrust =
            try ice?.needTunnels ?? false ? TLSTrust(alsoTrusting: web.trust, toSpeak: .turn) : nil
        let whipToken = try calls.contains(where: \.isWHIP) ? self.joined.whipToken() : nil
        let janusSecrets = try calls.contains(where: \.isJanus) ? self.joined.janusSecrets() : nil
        let folder = Self.unlessItFails { () throws(BridgeError) in try SenderFolder(in: directory) }
        // To commands in other containers, the folder's lock alone tells that this sender lives.
        defer { withExtendedLifetime(folder) {} }
        let listener = folder.flatMap { folder in
            Self.unlessItFails { () throws(BridgeError) in try folder.listen() }
        }
        // Without Unix sockets, the sender reaches no X server. Peers' agents learn the machine's addresses by netlink.
        let sandbox = Sandbox(
            writable: nil,
            readable: [directory.path],
            socketFamilies: [AF_INET, AF_INET6] + (ice == nil ? [] : [AF_NETLINK]),
            mayListen: preparation != nil || relayTrust != nil
        )
        let plain = try beginPlainCalls(with: renditions[0], horizon, events, restrictingFilesBy: sandbox)
        defer {
            for call in plain { call.close() }
            for call in calls where call.destination != nil { events.tell(.ended(call)) }
            events.close()
        }
        try enterSandbox(by: sandbox.filterCalls)
        try events.begin()
        let rendered = try rendering.begin()
        defer { rendered.close() }
        let tunnels = try relayTrust.flatMap { try ice?.startTunnels($0) } ?? []
        let peers = try ice.map { ice in
            try PeerGroup(
                PeerGroup.Configuration(
                    renditions: renditions,
                    ice: ice.configuration,
                    horizon: { horizon.instant }
                )
            )
        }
        let codecs = video.codec.codecs
        let served = try preparation.map {
            try ServedWebCall($0, to: peers!, codecs: codecs, horizon: horizon, events)
        }
        let sinks = Sinks(report: Console.note)
        let joined = trust.map { trust in
            JoinedCalls(
                joinedCalls,
                areAll: joinedCalls.count == calls.count,
                codecs: codecs,
                trust,
                whipToken: whipToken,
                janusSecrets: janusSecrets,
                receiver: rendered.receiver,
                to: peers!,
                events
            ) { sinks.bell.ring() }
        }
        defer {
            joined?.close()
            served?.stop()
            peers?.close()
            for tunnel in tunnels { tunnel.close() }
            served?.close()
        }
        for call in plain { sinks.add(call) }
        if let peers { sinks.add(peers) }
        let commands = SenderCommands(
            calls.map { "\($0)" },
            plain: plain,
            peers: peers,
            web: served?.call,
            lobby: served?.lobby,
            bitrate: video.bitrate.bitsPerSecond
        )
        var control: SenderControl?
        if let listener {
            do { control = try SenderControl(listener, reply: commands.reply) } catch { Self.noteNoCommands(error) }
        }
        defer { control?.close() }
        var loop = SenderLoop(
            peers == nil ? [renditions[0]] : renditions,
            video.settings(
                wakesEarly: sender.wake,
                keyframeInterval: plain.isEmpty ? nil : Self.plainKeyframeInterval
            ),
            reader: reader,
            sinks: sinks,
            report: Console.note
        )
        // Other calls go on without those that are joined.
        let endsWithThem = plain.isEmpty && served == nil
        let end = try loop.run(until: signals, orWhen: { endsWithThem && joined?.haveEnded ?? false }) { condition in
            served?.status.note(condition)
            events.tell(CallEvent(condition))
        } eachSecond: { statistics in
            let work = commands.note(statistics)
            served?.status.note(WebStatus.Work(quantizer: work.quantizer, limit: work.limit?.rawValue))
            log?.append(statistics, work, plain.map(\.statistics), peers)
        }
        if end == .callsEnded, let failure = joined?.failure { throw failure }
        return end
    }

    /// Makes the folder or the socket that commands need. If that fails, as on a full disk, the sender takes no commands.
    private static func unlessItFails<Made: ~Copyable>(_ make: () throws(BridgeError) -> Made) -> Made? {
        do { return try make() } catch {
            noteNoCommands(error)
            return nil
        }
    }

    private static func noteNoCommands(_ error: any Error) {
        Console.note("\(error); \"oriel status\" does not tell of this sender, and it takes no commands")
    }

    /// The threads that write session descriptions start before the sandbox closes files, those of the calls afterwards.
    private func beginPlainCalls(
        with rendition: Rendition,
        _ horizon: Horizon,
        _ events: EventLog,
        restrictingFilesBy sandbox: Sandbox
    ) throws -> [PlainRTPCall] {
        // Each prepared call holds such a thread.
        let prepared = try calls.compactMap { call in try call.destination.map { try PreparedRTPCall(to: $0, rtp) } }
        try enterSandbox(by: sandbox.restrictFiles)
        var begun: [PlainRTPCall] = []
        do {
            for call in prepared { begun.append(try call.begin(rendition, horizon: horizon, events)) }
        } catch {
            for call in begun { call.close() }
            throw error
        }
        return begun
    }
}
