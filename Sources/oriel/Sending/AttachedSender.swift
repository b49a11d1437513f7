import Access
import Calls
import FrameBridge
import Glibc
import HTTP
import Helpers
import Media
import Peers
import Posix
import Sender
import Talk
import WebRTC

/// Sends into any number of calls. Those that take the same rendition share its encode.
extension Attach {
    func send(
        _ reader: consuming FrameReader,
        log: StatisticsLog?,
        _ events: EventLog,
        _ rendering: consuming PreparedRendering,
        until signals: borrowing TerminationSignals
    ) throws -> SenderLoop.End {
        let directory = try broadcast.directory()
        let horizon = reader.horizon
        let hidden = { @Sendable in horizon.instant }
        let sound = SoundReader(directory: directory)
        let silenced = { @Sendable [soundHorizon = sound.horizon] in
            [horizon.instant, soundHorizon.instant].compactMap(\.self).max()
        }
        let offersSound = { @Sendable [isOffered = self.sound] in isOffered || SoundReader.findsRing(in: directory) }
        let renditions = video.renditions(fps: fps)
        let target = TargetBitrate(video.bitrate.bitsPerSecond)
        // A sender may be given calls of any kind while it runs: what these need of the sandbox, each has.
        let readerEnded = { @Sendable (end: NamedFiles.End) in events.tell(CallEvent(end)) }
        let turnSecret = try web.iceServers.secret()
        let turnSecretFile = try web.iceServers.file(of: turnSecret, readerEnded: readerEnded)
        let ice = try web.ice(turnSecret)
        let certificates = try web.certificates()
        let preparation = try calls.contains(.web) ? WebCallPreparation(web, in: directory, turnSecret, events) : nil
        let secrets = try joined.secrets(of: calls)
        let secretFiles = try joined.secretFiles(of: calls, readerEnded: readerEnded)
        // Servers of WHIP may name relays by TLS, too.
        let mayTunnel = ice.needTunnels || calls.contains(where: \.isWHIP) && !web.relayOnly
        let folder = Self.unlessItFails { () throws(BridgeError) in try SenderFolder(in: directory) }
        // To commands in other containers, the folder's lock alone tells that this sender lives.
        defer { withExtendedLifetime(folder) {} }
        let listener = folder.flatMap { folder in
            Self.unlessItFails { () throws(BridgeError) in try folder.listen() }
        }
        let talkEvents = TalkEvents(events)
        let talk = talk.talkBack(in: folder, talkEvents)
        // A command that means a knock or a viewer of the run before must not reach another one.
        let number = again ? Int.random(in: 1...9999) * 100 + 1 : 1
        let access = AccessControl(
            entry.settings(countingFrom: number),
            token: preparation?.token,
            viewerLimit: min(web.maxViewers, web.ports?.count ?? .max)
        )
        let asker = try entry.accept == .all ? nil : Asker(terminalGroup: terminalGroup ?? Asker.terminalGroup)
        defer { asker?.close() }
        // Without Unix sockets, the sender reaches no X server. Peers' agents learn the machine's addresses by netlink.
        let sandbox = Sandbox(
            writable: nil,
            readable: [directory.path],
            socketFamilies: [AF_INET, AF_INET6, AF_NETLINK],
            mayListen: preparation != nil || mayTunnel
        )
        let stream = PlainRTPStream(
            rendition: renditions[0],
            target: target,
            keyframeInterval: video.plainKeyframeInterval,
            horizon: hidden,
            soundHorizon: silenced,
            hasSound: offersSound
        )
        let plain = try beginPlainCalls(stream, events, restrictingFilesBy: sandbox)
        defer { events.close() }
        try enterSandbox(by: sandbox.filterCalls)
        try events.begin()
        let rendered = try rendering.begin()
        defer { rendered.close() }
        try talk?.begin()
        defer { talk?.close() }
        var served: ServedWebCall?
        // Peers are closed before the server, as answers leave by its thread.
        defer { served?.close() }
        let sinks = Sinks(target: target, report: Console.note)
        var shared = CallNetwork.Configuration(ice, renditions: renditions, target: target)
        shared.certificates = certificates
        (shared.horizon, shared.soundHorizon) = (hidden, silenced)
        (shared.offersSound, shared.voices, shared.firstNumber) = (offersSound, talk, number)
        let network = CallNetwork(shared) {
            sinks.add($0)
        } report: { event in
            switch event {
            case .server(let news): events.tell(CallEvent(news))
            case .note(let sentence): Console.note(sentence)
            }
        }
        talkEvents.follow(network)
        try turnSecretFile?.begin { network.doubtServers() }
        defer { turnSecretFile?.close() }
        let codecs = video.codec.codecs
        access.begin(
            AccessControl.Outlets(wake: sinks.bell.ring) { event in
                events.tell(CallEvent(event))
                asker?.tell(event)
            }
        )
        try asker?.begin { knock, answer in access.change { engine, _ in _ = engine.answer(knock, answer) } }
        let running = SenderCalls(
            network,
            codecs: codecs,
            introduction: (room.name, room.note),
            access: access,
            stream,
            events,
            sinks: sinks
        )
        defer {
            served?.stop()
            access.close()
            running.close()
        }
        for call in calls {
            if let preparation, call == .web {
                let web = try ServedWebCall(
                    preparation,
                    to: network.peers(),
                    codecs: codecs,
                    horizon: horizon,
                    access: access,
                    talk: talk,
                    events
                )
                talkEvents.follow(web.call, web.status)
                served = web
                try running.add(call)
            } else if let (_, plain) = plain.first(where: { $0.0 == call }) {
                try running.add(call, plain)
            } else {
                try running.join(call, secrets, in: secretFiles, receiver: rendered.receiver)
            }
        }
        let commands = SenderCommands(running, web: served?.call, access: access, talk: talk)
        var control: SenderControl?
        if let listener {
            do { control = try SenderControl(listener, reply: commands.reply) } catch { Self.noteNoCommands(error) }
        }
        defer { control?.close() }
        var loop = SenderLoop(
            renditions,
            video.settings(wakesEarly: sender.wake),
            reader: reader,
            sound: sound,
            sinks: sinks,
            report: Console.note
        )
        let end = try loop.run(until: signals, orWhen: { running.areOver }) { condition in
            served?.status.note(condition)
            events.tell(CallEvent(condition))
        } also: {
            access.turn()
        } eachSecond: { statistics in
            let work = commands.note(statistics)
            served?.status.note(
                WebStatus.Work(
                    quantizer: work.quantizer,
                    limit: work.limit?.rawValue,
                    soundTarget: work.sound?.targetBps
                )
            )
            log?.append(statistics, work, running.plain.map(\.statistics), running.peers)
        }
        if end == .callsEnded, let failure = running.failure { throw failure }
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
        _ stream: PlainRTPStream,
        _ events: EventLog,
        restrictingFilesBy sandbox: Sandbox
    ) throws -> [(CallAddress, PlainRTPCall)] {
        // Each prepared call holds such a thread.
        let prepared = try calls.compactMap { call in
            try call.destination.map { (call, try PreparedRTPCall(to: $0, rtp)) }
        }
        try enterSandbox(by: sandbox.restrictFiles)
        var begun: [(CallAddress, PlainRTPCall)] = []
        do {
            for (call, prepared) in prepared { begun.append((call, try prepared.begin(stream, events))) }
        } catch {
            for (_, call) in begun { call.close() }
            throw error
        }
        return begun
    }
}
