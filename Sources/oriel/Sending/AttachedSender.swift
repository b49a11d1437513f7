import Access
import Asking
import Calls
import Configuration
import Control
import Credentials
import FrameBridge
import Glibc
import HTTP
import Helpers
import Media
import Peers
import Posix
import Publishing
import Sender
import Talk
import WebRTC

/// Sends into any number of calls. Those that take the same rendition share its encode.
extension SenderProcess {
    func send(
        _ reader: consuming FrameReader,
        log: StatisticsLog?,
        _ events: EventLog,
        _ rendering: consuming PreparedRendering,
        until signals: borrowing TerminationSignals
    ) throws -> SenderLoop.End {
        var ends = Ends()
        let directory = try BridgeDirectory(path: settings.broadcast, create: false)
        let (video, web, conduct) = (settings.video, settings.web, settings.conduct)
        let horizon = reader.horizon
        let sound = SoundReader(directory: directory)
        let sinks = Sinks(target: TargetBitrate(video.bitrate.bitsPerSecond), report: Console.note)
        // A sender may be given calls of any kind while it runs: what these need of the sandbox, each has.
        let readerEnded = { @Sendable (end: NamedFiles.End) in events.tell(CallEvent(end)) }
        let turnSecret = try web.iceServers.turnSecret()
        let turnSecretFile = try web.iceServers.file(of: turnSecret, readerEnded: readerEnded)
        let ice = try web.ice(turnSecret)
        let certificates = try web.certificates()
        let listens = calls.contains(where: \.listens)
        let token = try listens ? web.token?.text("token") : nil
        let certificate = try listens ? web.server.tls(readerEnded: readerEnded) : nil
        var callSettings = CallSettings()
        callSettings.introduction = (settings.introduction.name, settings.introduction.note)
        try settings.credentials.addSecrets(to: &callSettings, for: calls, readerEnded: readerEnded)
        (callSettings.localPort, callSettings.publisher) = (settings.plain.localPort, settings.plain.publisher)
        // Servers of WHIP may name relays by TLS, too.
        let mayTunnel = ice.needTunnels || calls.contains(where: \.namesRelays) && !web.relayOnly
        let folder = Self.unlessItFails { () throws(BridgeError) in try SenderFolder(in: directory) }
        // To commands in other containers, the folder's lock alone tells that this sender lives.
        ends.add { withExtendedLifetime(folder) {} }
        let listener = folder.flatMap { folder in
            Self.unlessItFails { () throws(BridgeError) in try folder.listen() }
        }
        let voices = settings.talk.ring(in: folder)
        let status = WebStatus(hearsViewers: voices != nil)
        if listens {
            callSettings.web = try WebSettings(
                web,
                token: token,
                certificate,
                turnSecret,
                in: directory,
                horizon,
                status
            )
        }
        // A command that means a knock or a viewer of the run before must not reach another one.
        let number = settings.goesOn ? Int.random(in: 1...9999) * 100 + 1 : 1
        var engine = settings.access.engine(countingFrom: number)
        engine.speakers = settings.talk.talkers
        if voices != nil { engine.talk = settings.talk.talkback }
        let access = AccessControl(
            engine,
            token: token,
            viewerLimit: min(web.maxViewers, web.ports?.count ?? .max)
        )
        let talk: TalkBack? =
            if let voices { TalkBack(access, into: voices, problem: Console.note) } else { nil }
        let asker = try settings.access.accept == .all ? nil : Asker(terminalGroup: conduct.terminalGroup)
        ends.add { asker?.close() }
        let kinds = CallKinds(callSettings)
        let prepared = try calls.map { call in
            let plan = try kinds.plan(call.argument)
            return (plan: plan, begin: try plan.prepare(nil))
        }
        // Without Unix sockets, the sender reaches no X server. Peers' agents learn the machine's addresses by netlink.
        let sandbox = Sandbox(
            writable: nil,
            readable: [directory.path],
            socketFamilies: [AF_INET, AF_INET6, AF_NETLINK],
            mayListen: listens || mayTunnel
        )
        try enterSandbox(by: sandbox.enter)
        ends.add { events.close() }
        try events.begin()
        let rendered = try rendering.begin()
        ends.add { rendered.close() }
        try talk?.begin()
        ends.add { talk?.close() }
        var media = SentMedia(
            codecs: video.codec.codecs,
            renditions: video.renditions(fps: settings.framesPerSecond),
            target: sinks.target
        ) {
            sinks.add($0)
        } removeSink: {
            sinks.remove($0)
        }
        media.keyframeInterval = video.plainKeyframeInterval
        media.horizon = { horizon.instant }
        media.soundHorizon = { [soundHorizon = sound.horizon] in
            [horizon.instant, soundHorizon.instant].compactMap(\.self).max()
        }
        media.offersSound = { conduct.offersSound || SoundReader.findsRing(in: directory) }
        media.voices = talk
        var shared = CallNetwork.Configuration(ice, media)
        (shared.certificates, shared.firstNumber) = (certificates, number)
        let network = CallNetwork(shared) { event in
            switch event {
            case .server(let news): events.tell(CallEvent(news))
            case .note(let sentence): Console.note(sentence)
            }
        }
        try turnSecretFile?.begin { network.doubtServers() }
        ends.add { turnSecretFile?.close() }
        let running = CallRegistry(network, kinds, access: access, events, sinks: sinks)
        ends.add { running.close() }
        try running.begin(prepared, receiver: rendered.receiver)
        let commands = SenderCommands(running, access: access, talk: talk)
        access.begin(
            AccessControl.Outlets(wake: sinks.bell.ring) { event in
                events.tell(commands.callEvent(event))
                asker?.tell(event)
                switch event {
                case .talk(_, .asked), .talk(_, .granted), .talk(_, .revoked): status.noteTalk()
                default: break
                }
            } ended: { participant, rights in
                if rights.contains(.watch) { _ = commands.kick(participant) }
            }
        )
        try asker?.begin { knock, answer in access.change { engine, _ in _ = engine.answer(knock, answer) } }
        if let listener {
            do {
                let control = try LineServer(answering: listener, commands.reply)
                ends.add { control.close() }
            } catch {
                Self.noteNoCommands(error)
            }
        }
        var loop = SenderLoop(
            media.renditions,
            video.sender(wakesEarly: conduct.wakesEarly),
            reader: reader,
            sound: sound,
            sinks: sinks,
            report: Console.note
        )
        let end = try loop.run(until: signals, orWhen: { running.areOver }) { condition in
            status.note(condition)
            events.tell(CallEvent(condition))
        } also: {
            access.turn()
        } eachSecond: { statistics in
            let work = commands.note(statistics)
            status.note(
                WebStatus.Work(
                    quantizer: work.quantizer,
                    limit: work.limit?.rawValue,
                    soundTarget: work.sound?.targetBps
                )
            )
            log?.append(statistics, work, running.sent, running.peers)
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
}
