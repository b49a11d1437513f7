import Access
import Asking
import Calls
import Configuration
import Credentials
import FrameBridge
import Glibc
import HTTP
import Helpers
import ICE
import JSON
import Posix
import Sender
import Talk

/// What a sender has before its sandbox: later it opens no file but those of its broadcast, and starts no process.
///
/// Processes are started before the first thread. The threads that write session descriptions come last: Landlock does not bind threads
/// that were there before, so these may write any file. A sender may be given calls of any kind while it runs: each sender has what these
/// need of the sandbox, but for relays by TLS, which only the calls of the start may name.
struct Endowment: ~Copyable {
    let settings: SenderProcessSettings
    let directory: BridgeDirectory
    let reader: FrameReader
    let sound: SoundReader
    let log: StatisticsLog?
    let events: EventLog
    let rendered: Rendered
    let relays: Relays
    let people: People
    let desktop: SharedDesktop
    let status: WebStatus
    /// For viewers.
    let recorders: RecorderDesk
    let desk: CommandDesk
    let view: SharedView
    /// For commands; nil if they cannot reach this sender.
    let listener: LocalListener?
    let kinds: CallKinds
    /// Those of the start.
    let calls: [(plan: CallPlan, begin: CallPlan.Begin)]
    let sandbox: Sandbox

    /// - Parameters:
    ///   - plans: the calls of the start.
    ///   - ends: gets what must be ended from now on.
    /// - Returns: nil when a signal came while there was no broadcast, or while a pipe had no reader.
    init?(
        _ settings: SenderProcessSettings,
        for plans: [CallPlan],
        _ ends: inout Ends,
        until signals: borrowing TerminationSignals
    ) throws {
        let (broadcast, web, files) = (settings.broadcast, settings.web, settings.files)
        try OutputFile.requireWritable(files.statistics, files.events)
        try requireThreads()
        let waits = settings.conduct.waitsForBroadcast
        guard let reader = try AttachedReader.open(broadcast, waits: waits, until: signals) else { return nil }
        let log = try files.statistics.map { try StatisticsLog(path: $0) }
        let events = try EventLog(path: files.events)
        guard let rendered = try Rendered.prepare(settings.rendering, broadcast, until: signals) else {
            return nil
        }
        let directory = try BridgeDirectory(path: broadcast, create: false)
        let sound = SoundReader(directory: directory)
        let readerEnded = { @Sendable (end: NamedFiles.End) in events.tell(CallEvent(end)) }
        let relays = try Relays(web, readerEnded: readerEnded)
        let listens = plans.contains(where: \.listens)
        let token = try listens ? web.token?.text("token") : nil
        let certificate = try listens ? web.server.tls(readerEnded: readerEnded) : nil
        var given = try settings.credentials.renewed(for: plans, readerEnded: readerEnded)
        if let port = settings.plain.localPort { given[PlainCall.kind] = CallSettings(["localPort": "\(port)"]) }
        let push = try settings.push.jsonLine()
        given[CMAFCall.kind] = (given[CMAFCall.kind] ?? CallSettings()).adding([CMAFCall.pushSetting: push])
        let folder = Self.unlessItFails { () throws(BridgeError) in try ProcessFolder(.sender, in: directory) }
        // To commands in other containers, the folder's lock alone tells that this sender lives.
        ends.add { withExtendedLifetime(folder) {} }
        let listener = folder.flatMap { folder in
            Self.unlessItFails { () throws(BridgeError) in try folder.listen() }
        }
        let voices = settings.talk.ring(in: folder)
        let status = WebStatus(
            hearsViewers: voices != nil,
            viewersRecord: settings.access.viewersRecord,
            showsPeople: settings.access.showsPeople
        )
        status.note(settings.video.legibility)
        let recorders = RecorderDesk()
        let (desk, view) = (CommandDesk(), SharedView(legibility: settings.video.legibility))
        let snapshots = WebService.SnapshotSource(of: directory, from: reader.horizon, view: view)
        let served =
            try listens
            ? WebSettings(web, token: token, certificate, relays.secret, snapshots, recorders, desk, status) : nil
        let people = try People(settings, token: token, into: voices)
        ends.add { people.asker?.close() }
        let desktop = try listens ? SharedDesktop(settings.desktop, of: directory) : .none
        ends.add { desktop.close() }
        let kinds = CallKinds(web: served, settings.introduction, sdp: settings.plain.sdp)
        calls = try plans.map { call in
            let plan = try kinds.plan(call.argument)
            var settings = given[plan.kind] ?? CallSettings()
            settings.isOfStart = true
            return (plan: plan, begin: try plan.prepare(settings))
        }
        // Servers of WHIP may name relays by TLS, too.
        let mayTunnel = relays.ice.needTunnels || plans.contains(where: \.namesRelays) && !web.relayOnly
        sandbox = Sandbox(ofSenderIn: directory, mayListen: listens || mayTunnel)
        // None of these may be there in part when something is thrown.
        self.reader = reader
        self.sound = sound
        self.listener = listener
        (self.settings, self.directory, self.log, self.events) = (settings, directory, log, events)
        self.rendered = rendered
        (self.relays, self.people, self.desktop) = (relays, people, desktop)
        (self.status, self.kinds) = (status, kinds)
        (self.recorders, self.desk, self.view) = (recorders, desk, view)
    }

    /// Makes the folder or the socket that commands need. If that fails, as on a full disk, the sender takes no commands.
    private static func unlessItFails<Made: ~Copyable>(_ make: () throws(BridgeError) -> Made) -> Made? {
        do { return try make() } catch {
            noteNoCommands(error)
            return nil
        }
    }

    static func noteNoCommands(_ error: any Error) {
        Console.note("\(error); \"oriel status\" does not tell of this sender, and it takes no commands")
    }
}

extension Endowment {
    /// The STUN and TURN servers by which calls find a way, by their addresses, and what may be trusted there.
    struct Relays {
        /// Of which logins are made; nil for none.
        let secret: TURNSecret?
        /// Renews the secret; nil if it is in no file.
        let secretFile: TURNSecretFile?
        let ice: ICEServers
        let certificates: TrustedCertificates

        init(_ web: WebCallSettings, readerEnded: @escaping @Sendable (NamedFiles.End) -> Void) throws {
            secret = try web.iceServers.turnSecret()
            secretFile = try web.iceServers.file(of: secret, readerEnded: readerEnded)
            ice = try web.ice(secret)
            certificates = if let trust = web.trust { try TrustedCertificates(in: trust) } else { .none }
        }
    }

    /// Who may come in and be heard, and the process that asks about that.
    struct People {
        /// Of the first participant, and of the first knock.
        let firstNumber: Int
        let access: AccessControl
        /// Keeps invitations over a crash.
        let keep: @Sendable (Invites.Change) -> Void
        /// Nil where nobody is heard.
        let talk: TalkBack?
        /// Nil where nobody is asked.
        let asker: Asker?

        /// - Parameter voices: the ring for what people say.
        init(_ settings: SenderProcessSettings, token: String?, into voices: consuming sending SoundWriter?) throws {
            // A command that means a knock or a viewer of the run before must not reach another one.
            firstNumber = settings.goesOn ? Int.random(in: 1...9999) * 100 + 1 : 1
            var engine = settings.access.engine(countingFrom: firstNumber)
            engine.speakers = settings.talk.talkers
            if voices != nil { engine.talk = settings.talk.talkback }
            let web = settings.web
            let limit = min(web.maxViewers, web.ports?.count ?? .max)
            engine.asleep = MonotonicClock.suspendedTime()
            let journal = token == nil ? nil : settings.inviteJournal()
            engine.invites = journal?.invites ?? []
            keep = { change in
                do { try journal?.journal.note(change) } catch { Console.note("\(error)") }
            }
            let access = AccessControl(engine, token: token, viewerLimit: limit)
            self.access = access
            talk = if let voices { TalkBack(access, into: voices, problem: Console.note) } else { nil }
            let group = settings.conduct.terminalGroup
            asker = try settings.access.accept == .all ? nil : Asker(terminalGroup: group)
        }
    }
}

extension Sandbox {
    /// Without Unix sockets, a sender reaches no X server. Peers' agents learn the machine's addresses by netlink.
    fileprivate init(ofSenderIn directory: BridgeDirectory, mayListen: Bool) {
        self.init(
            writable: nil,
            readable: [directory.path],
            socketFamilies: [AF_INET, AF_INET6, AF_NETLINK]
        )
        self.mayListen = mayListen
    }
}
