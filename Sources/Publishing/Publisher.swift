import Access
import Asking
import Calls
import Configuration
import Control
import Credentials
import FrameBridge
import Helpers
import Media
import Pixels
import Posix
import Sender
import Synchronization
import Talk
import Time

/// A sender in its sandbox. It sends into any number of calls, which share the encode where they take the same rendition.
struct Publisher: ~Copyable {
    private let calls: CallRegistry
    private let feeds: RecordingFeeds
    /// Without calls of the start, it serves recorders, and ends with the last one.
    private let hasCalls: Bool
    private let commands: SenderCommands
    private let access: AccessControl
    private let status: WebStatus
    private let events: EventLog
    private let log: StatisticsLog?
    private var loop: SenderLoop

    /// Begins all that the sender has.
    ///
    /// - Parameter ends: ends it, in reverse.
    init(_ endowment: consuming Endowment, _ ends: inout Ends) throws {
        let target = TargetBitrate(endowment.settings.video.bitrate.bitsPerSecond)
        let sinks = Sinks(target: target, view: endowment.view, report: Console.note)
        let media = SentMedia(of: endowment, into: sinks)
        let (settings, people, relays) = (endowment.settings, endowment.people, endowment.relays)
        let (events, status, access) = (endowment.events, endowment.status, people.access)
        ends.add { events.close() }
        try events.begin()
        let rendered = endowment.rendered
        ends.add { rendered.close() }
        try rendered.begin()
        try people.talk?.begin()
        ends.add { people.talk?.close() }
        var configuration = CallNetwork.Configuration(relays.ice, media)
        (configuration.certificates, configuration.firstNumber) = (relays.certificates, people.firstNumber)
        let network = CallNetwork(configuration, report: events.tell)
        try relays.secretFile?.begin { network.doubtServers() }
        ends.add { relays.secretFile?.close() }
        let calls = CallRegistry(network, endowment.kinds, access: access, events, sinks: sinks)
        ends.add { calls.close() }
        // Before the server ends, which sends the answers.
        let desktop = endowment.desktop
        ends.add { desktop.close() }
        try calls.begin(endowment.calls, receiver: rendered.receiver)
        let directory = endowment.directory
        let hasCalls = !endowment.calls.isEmpty
        let feeds = RecordingFeeds(media, sinks: sinks, at: endowment.recorders) {
            status.noteRecorders()
        } tell: { isRecorded in
            status.note(isRecorded: isRecorded)
        } reader: {
            try FrameReader(directory: directory)
        }
        ends.add { feeds.close() }
        let screen = SourceSize(of: directory)
        let commands = SenderCommands(
            calls,
            access: access,
            talk: people.talk,
            status,
            desktop: desktop,
            usual: settings.capabilities,
            screen: { screen.current },
            tell: events.tell
        )
        try desktop.begin()
        endowment.desk.begin { command, viewer, completion in
            commands.perform(command, of: viewer, completion)
        } describe: { rights in
            commands.capabilities(for: rights)
        }
        var outlets = AccessControl.Outlets(wake: sinks.bell.ring) { event in
            events.tell(commands.callEvent(event))
            people.asker?.tell(event)
            if case .knocked(let knock) = event { desktop.noteKnock(knock.name) }
            switch event {
            case .talk(_, .asked), .talk(_, .granted), .talk(_, .revoked): status.noteTalk()
            default: break
            }
        } ended: { participant, rights, end in
            guard rights.contains(.watch) else { return }
            switch end {
            case .over: _ = commands.kick(participant)
            case .revoked: calls.participants[participant]?.kick?(.revoked)
            case .leaseExpired: calls.participants[participant]?.kick?(.leaseExpired)
            }
        }
        outlets.keep = people.keep
        access.begin(outlets)
        try people.asker?.begin { knock, answer in access.change { engine, _ in _ = engine.answer(knock, answer) } }
        (self.calls, self.feeds, self.hasCalls) = (calls, feeds, hasCalls)
        (self.commands, self.access) = (commands, access)
        (self.status, self.events, log) = (status, events, endowment.log)
        if let listener = endowment.listener {
            do {
                let control = try LineServer(answering: listener, taking: feeds.taker, commands.reply)
                ends.add { control.close() }
            } catch {
                Endowment.noteNoCommands(error)
            }
        }
        loop = SenderLoop(
            media.renditions,
            settings.video.sender(wakesEarly: settings.conduct.wakesEarly),
            reader: endowment.reader,
            sound: endowment.sound,
            sinks: sinks,
            report: Console.note
        )
    }

    /// Sends until a signal comes, or until the broadcast or all calls have ended.
    ///
    /// - Throws: the end of the last call, if it was not left.
    mutating func run(until signals: borrowing TerminationSignals) throws -> SenderLoop.End {
        let (calls, feeds, hasCalls) = (calls, feeds, hasCalls)
        let (commands, access) = (commands, access)
        let (status, events, log) = (status, events, log)
        let end = try loop.run(until: signals, orWhen: { calls.areOver || !hasCalls && feeds.areOver }) { condition in
            status.note(condition)
            feeds.look()
            events.tell(CallEvent(condition))
        } also: {
            access.turn()
        } eachSecond: { statistics in
            let work = commands.note(statistics)
            status.note(work)
            log?.append(statistics, work, calls.sent, calls.peers)
        }
        if end == .callsEnded, let failure = calls.failure { throw failure }
        return end
    }
}

extension SentMedia {
    fileprivate init(of endowment: borrowing Endowment, into sinks: Sinks) {
        let (video, conduct) = (endowment.settings.video, endowment.settings.conduct)
        self.init(
            codecs: video.codec.codecs,
            renditions: video.renditions(fps: endowment.settings.framesPerSecond),
            target: sinks.target
        ) {
            sinks.add($0)
        } removeSink: {
            sinks.remove($0)
        }
        let (directory, voices) = (endowment.directory, endowment.people.talk)
        let (pictures, sound) = (endowment.reader.horizon, endowment.sound.horizon)
        keyframeInterval = video.plainKeyframeInterval
        horizon = { pictures.instant }
        soundHorizon = { [pictures.instant, sound.instant].compactMap(\.self).max() }
        offersSound = { conduct.offersSound || SoundReader.findsRing(in: directory) }
        self.voices = voices
        watchChanges = {
            let changes = Mutex(try WatchedChanges(of: FrameReader(directory: directory)))
            return { changes.withLock { $0.take() } }
        }
    }
}

extension SenderProcessSettings {
    fileprivate var capabilities: Capabilities {
        var capabilities = Capabilities()
        capabilities.codecs = video.codec.codecs.joined().map { $0.rawValue.lowercased() }
        capabilities.lease.isUsual = access.lease != nil
        if let lease = access.lease { capabilities.lease.seconds = [1, lease] }
        capabilities.talk = talk.talkback == .off ? nil : talk.talkback.rawValue
        return capabilities
    }
}

/// The size of the source's picture. It is looked up ten times a second at most: viewers may ask for it as often as they like.
private final class SourceSize: Sendable {
    private static let interval = Duration.milliseconds(100)

    private let directory: BridgeDirectory
    private let last = Mutex<(size: PixelSize?, at: Instant)?>(nil)

    init(of directory: BridgeDirectory) { self.directory = directory }

    /// Nil while that is not known.
    var current: PixelSize? {
        let now: Instant = MonotonicClock.now()
        if let last = last.withLock(\.self), now < last.at + Self.interval { return last.size }
        let size = (try? BridgeInspection(directory))?.latest.map { PixelSize(width: $0.width, height: $0.height) }
        last.withLock { $0 = (size, now) }
        return size
    }
}
