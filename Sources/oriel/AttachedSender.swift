import Calls
import FrameBridge
import Glibc
import Media
import Posix
import Sender

/// Sends into any number of calls. Those that take the same rendition share its encode.
extension Attach {
    /// Most plain receivers cannot ask for a keyframe.
    private static let plainKeyframeInterval = Duration.seconds(5)

    func send(
        _ reader: consuming FrameReader,
        log: StatisticsLog?,
        until signals: borrowing TerminationSignals
    ) throws -> SenderLoop.End {
        let directory = try broadcast.directory()
        let horizon = reader.horizon
        let renditions = video.renditions(fps: fps)
        let preparation = calls.contains(.web) ? try WebCallPreparation(web, in: directory) : nil
        let folder = Self.unlessItFails { () throws(BridgeError) in try SenderFolder(in: directory) }
        // To commands in other containers, the folder's lock alone tells that this sender lives.
        defer { withExtendedLifetime(folder) {} }
        let listener = folder.flatMap { folder in
            Self.unlessItFails { () throws(BridgeError) in try folder.listen() }
        }
        // Without Unix sockets, the sender reaches no X server. A web call learns the machine's addresses by netlink.
        let sandbox = Sandbox(
            writable: nil,
            readable: [directory.path],
            socketFamilies: [AF_INET, AF_INET6] + (preparation == nil ? [] : [AF_NETLINK]),
            mayListen: preparation != nil
        )
        let plain = try beginPlainCalls(with: renditions[0], horizon, restrictingFilesBy: sandbox)
        defer { for call in plain { call.close() } }
        try enterSandbox(by: sandbox.filterCalls)
        let served = try preparation.map {
            try ServedWebCall($0, renditions, codecs: video.codec.codecs, horizon: horizon)
        }
        defer { served?.close() }
        let sinks = Sinks(report: Console.note)
        for call in plain { sinks.add(call) }
        if let served { sinks.add(served.peers) }
        let commands = SenderCommands(
            calls.map { "\($0)" },
            plain: plain,
            peers: served?.peers,
            web: served?.call,
            bitrate: video.bitrate.bitsPerSecond
        )
        var control: SenderControl?
        if let listener {
            do { control = try SenderControl(listener, reply: commands.reply) } catch { Self.noteNoCommands(error) }
        }
        defer { control?.close() }
        var loop = SenderLoop(
            preparation == nil ? [renditions[0]] : renditions,
            video.settings(
                wakesEarly: sender.wake,
                keyframeInterval: plain.isEmpty ? nil : Self.plainKeyframeInterval
            ),
            reader: reader,
            sinks: sinks,
            report: Console.note
        )
        return try loop.run(until: signals) { condition in
            served?.status.note(condition)
        } eachSecond: { statistics in
            let work = commands.note(statistics)
            served?.status.note(WebStatus.Work(quantizer: work.quantizer, limit: work.limit?.rawValue))
            log?.append(statistics, work, plain.map(\.statistics), served?.peers)
        }
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
        restrictingFilesBy sandbox: Sandbox
    ) throws -> [PlainRTPCall] {
        // Each prepared call holds such a thread.
        let prepared = try calls.compactMap { call in try call.destination.map { try PreparedRTPCall(to: $0, rtp) } }
        try enterSandbox(by: sandbox.restrictFiles)
        var begun: [PlainRTPCall] = []
        do {
            for call in prepared { begun.append(try call.begin(rendition, horizon: horizon)) }
        } catch {
            for call in begun { call.close() }
            throw error
        }
        return begun
    }
}
