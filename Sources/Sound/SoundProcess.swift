import CPulse
package import Control
package import FrameBridge
import Glibc
package import Media
package import Posix
import Synchronization
import Time

/// The sound process: records sound from the sound server, writes it into the broadcast's sound, and plays peers'
/// voices, until it is told to stop. `SoundSession` decides; this performs its actions, and waits. Used by one thread,
/// except for `requests`.
package final class SoundProcess {
    package enum End: Equatable, Sendable {
        case signalled
        case broadcastStopped
    }

    /// After two seconds without a heartbeat, readers treat a writer as stalled.
    private static let tickInterval = Duration.milliseconds(500)
    /// A turn that is late by this much shows that the process stood still.
    private static let standstill = Duration.milliseconds(500)

    private let directory: BridgeDirectory
    private let lock: AudioLock
    private let report: (SoundNote) -> Void
    private let bequest: (SoundWish, SoundMute) throws -> String
    private let loop = PulseLoop()
    private let talk = TalkMixer()
    private var session: SoundSession
    private var mixer = BlockMixer()
    private var levels = LevelMeter()
    /// Nil while no sound is recorded.
    private var writer: SoundWriter?
    private var blocksWritten: UInt64 = 0
    /// When the last block begins.
    private var writtenUntil = Instant.start
    /// Whether the last block was written.
    private var isUnbroken = false
    private var writeProblem: String?
    private var isSilent = false
    private var connection: PulseConnection?
    private var recorders: [Int: PulseRecorder] = [:]
    private var player: PulsePlayer?
    private var underruns = 0
    /// Events that were not handled yet.
    private var inbox: [SoundSession.Event] = []
    private var tickAt: Instant = MonotonicClock.now()
    private var hasSeenBroadcast = false

    /// - Parameters:
    ///   - lock: of the one sound process of the folder.
    ///   - wish: the settings.
    ///   - mute: as an earlier process has left it.
    ///   - report: gets reports for a person.
    ///   - bequest: the text of wish and mute that is kept for a later process, before a command is answered.
    package init(
        _ wish: SoundWish,
        _ mute: SoundMute,
        in directory: BridgeDirectory,
        holding lock: consuming AudioLock,
        report: @escaping (SoundNote) -> Void,
        bequest: @escaping (SoundWish, SoundMute) throws -> String
    ) throws {
        self.directory = directory
        self.lock = lock
        (self.report, self.bequest) = (report, bequest)
        requests = try RequestQueue(of: "the sound process")
        session = SoundSession(wish, mute) { ProcessTree.isPart($0, of: $1) }
        talk.setGain(Self.gain(wish.volume))
        try begin()
    }

    /// Requests of commands, from any thread.
    private let requests: RequestQueue<SoundRequest, SoundSnapshot>

    /// Answers commands, on any thread: a file is decoded there, as it may take a while.
    package var reply: @Sendable (SoundRequest) -> SoundReply {
        { [requests, talk] request in
            guard case .play(let path) = request else { return requests.ask(request) }
            do throws(SoundFileError) {
                talk.ring(try SoundFile.samples(of: path), at: MonotonicClock.now())
            } catch {
                return .refused(reason: "\(error)")
            }
            requests.wake()
            if talk.waitForChime(until: MonotonicClock.now() + Self.chimePatience) { return .done() }
            return .refused(reason: "no speakers play it: see whether a sound server runs")
        }
    }

    /// The process at the desktop waits a little longer for its answer.
    private static let chimePatience = Duration.seconds(1)

    /// Removes the text for a later process.
    package func forget() { lock.forget() }

    /// Begins to write if sound is wanted. Sound that a former process recorded, and that must not be heard any more,
    /// is hidden.
    private func begin() throws(BridgeError) {
        guard session.wish.source != .none, writer == nil else { return }
        writer = try SoundWriter(holding: lock)
        if session.mute != SoundMute() || BroadcastGlance(directory).isPaused {
            writer?.hide(before: MonotonicClock.now())
        }
    }

    /// Runs until a signal comes, or the broadcast has ended.
    package func run(until signals: borrowing TerminationSignals) throws -> End {
        let watch = directory.watch()
        let reading = try TalkReading(in: directory, into: talk) { [requests] in requests.wake() }
        defer {
            reading.close()
            requests.close()
            disconnect()
        }
        let signal = loop.watch(signals.descriptor.raw)
        let folder = loop.watch(watch.descriptor)
        let asked = loop.watch(requests.descriptor)
        while true {
            let now: Instant = MonotonicClock.now()
            if signal.takeReadable(), signals.take() { return hasEnded() ? .broadcastStopped : .signalled }
            let isCalled = folder.takeReadable() && watch.take()
            let isDue = now >= tickAt
            if isCalled || isDue, hasEnded() { return .broadcastStopped }
            // A pause may have begun and ended meanwhile, and the server has kept the sound of that time.
            if now > tickAt + Self.standstill { writer?.hide(before: now) }
            if isDue { tick(at: now) }
            if asked.takeReadable() {
                for request in requests.takeWaiting() { request.answer(answer(request.request)) }
                noteTalk(at: now)
            }
            if let deadline = session.deadline, now >= deadline { handle(.woke) }
            moveSound(at: now)
            if session.hasNoServer { talk.dropChime() }
            // An immediate failure is handled at once.
            loop.turn(until: inbox.isEmpty ? earliest(tickAt, session.deadline, mixer.deadline(at: now)) : now)
            handleInbox()
        }
    }

    /// Reads the broadcast's state. Returns whether it has ended.
    private func hasEnded() -> Bool {
        let glance = BroadcastGlance(directory)
        if glance.isThere { hasSeenBroadcast = true }
        handle(.broadcast(BroadcastView(isPaused: glance.isPaused, process: glance.windowProcess)))
        return hasSeenBroadcast && glance.hasEnded
    }

    private func tick(at now: Instant) {
        tickAt = now + Self.tickInterval
        noteTalk(at: now)
        writer?.heartbeat()
        connection?.askForAnswer()
        // Another stream will play instead.
        if let player, player.isStarved(at: now) { inbox.append(.failed(player.id, reason: "it is not played")) }
    }

    private func noteTalk(at now: Instant) {
        let (isPossible, isHeard) = talk.talk(at: now)
        handle(.talk(isPossible: isPossible, isHeard: isHeard))
    }

    // MARK: - Actions

    private func handleInbox() {
        let events = inbox
        inbox = []
        for event in events {
            handle(event)
            if case .opened(let id) = event, let recorder = recorders[id] { setPieces(of: recorder) }
        }
    }

    private func handle(_ event: SoundSession.Event) {
        session.handle(event, at: MonotonicClock.now())
        while let action = session.nextAction() {
            switch action {
            case .connect:
                connection = PulseConnection(loop) { [unowned self] in inbox.append($0) }
                connection?.connect()
            case .disconnect: disconnect()
            case .open(let id, let target): open(id, target)
            case .close(let id): close(id)
            case .hide: hide()
            case .tell(let note): report(note)
            }
        }
    }

    /// Hides all sound recorded until now.
    private func hide() {
        // It may be played a few milliseconds later than it was recorded.
        MonotonicClock.sleep(until: min(writtenUntil, MonotonicClock.now() + BlockMixer.mostAhead))
        writer?.hide(before: MonotonicClock.now())
    }

    private func open(_ id: Int, _ target: SoundTarget) {
        guard let connection else { return }
        let tell: (SoundSession.Event) -> Void = { [unowned self] in inbox.append($0) }
        if case .output(let sink) = target {
            player = PulsePlayer(id, on: loop, beside: connection, tell: tell) { [talk] in talk.play(into: $0) }
            player?.connect(to: sink)
            return
        }
        mixer.add(id, channels: target.channels, from: MonotonicClock.now())
        let recorder = PulseRecorder(id, target, on: connection, tell: tell) { [unowned self] in change(id, $0) }
        recorders[id] = recorder
        recorder.connect()
    }

    private func close(_ id: Int) {
        mixer.remove(id)
        recorders.removeValue(forKey: id)?.close()
        guard let player, player.id == id else { return }
        underruns += player.underruns
        player.close()
        self.player = nil
    }

    private func disconnect() {
        for id in mixer.ids + [player?.id].compactMap(\.self) { close(id) }
        connection?.close()
        connection = nil
        inbox = []
    }

    // MARK: - Recorded sound

    private func change(_ id: Int, _ body: (inout CapturedStream, Instant) -> Void) {
        let now: Instant = MonotonicClock.now()
        let interval = mixer.withStream(id, at: now) { stream in
            body(&stream, now)
            return stream.reportInterval
        }
        if let interval { recorders[id]?.askForReport(after: interval) }
    }

    private func moveSound(at now: Instant) {
        while let block = mixer.takeBlock(at: now) {
            levels.add(mixer.samples, at: now)
            write(block)
        }
        guard mixer.isSilent != isSilent else { return }
        isSilent = mixer.isSilent
        for recorder in recorders.values { setPieces(of: recorder) }
    }

    private func setPieces(of recorder: PulseRecorder) {
        // PipeWire would change the period of its whole graph with it, and lose some 50 ms.
        if connection?.isPipeWire == false { recorder.setSilent(isSilent) }
    }

    private func write(_ block: BlockMixer.Block) {
        do throws(BridgeError) {
            try writer?.write(
                mixer.samples.span,
                channels: block.channels,
                capturedAt: block.capturedAt,
                follows: block.follows && isUnbroken
            )
            (isUnbroken, writeProblem) = (true, nil)
            writtenUntil = block.capturedAt
            blocksWritten += 1
        } catch {
            isUnbroken = false
            if writeProblem == nil { report(.notWritten("\(error)")) }
            writeProblem = "\(error)"
        }
    }

    // MARK: - Requests of commands

    private func answer(_ request: SoundRequest) -> SoundReply {
        do {
            switch request {
            case .status: return .status(report: status)
            case .change(let change):
                var wish = session.wish
                if let reason = wish.apply(change) { return .refused(reason: reason) }
                handle(.wished(wish))
                talk.setGain(Self.gain(wish.volume))
                if wish.source == .none { writer = nil } else { try begin() }
            // It never comes here (`reply`).
            case .play: break
            case .mute(let mute):
                let now = session.mute
                handle(.muted(SoundMute(microphone: now.microphone || mute.microphone, all: now.all || mute.all)))
            case .unmute(let mute):
                let now = session.mute
                handle(.muted(SoundMute(microphone: now.microphone && !mute.microphone, all: now.all && !mute.all)))
            }
            try lock.keep(bequest(session.wish, session.mute))
            return .done()
        } catch {
            return .refused(reason: "this is done, but a sound process that comes later does not know of it: \(error)")
        }
    }

    private static func gain(_ volume: Int) -> Float {
        let full = Int(oriel_pulse_volume_norm)
        return Float(pa_sw_volume_to_linear(pa_volume_t(full * volume / SoundWish.loudest)))
    }

    private var status: SoundSnapshot {
        let level = session.state == .hearing ? levels.level(at: MonotonicClock.now()) : nil
        let (waiting, gaps, ratio) = talk.statistics
        var status = SoundSnapshot(pid: getpid(), source: session.wish.source, state: session.state)
        status.isMicrophoneLive = !session.openMicrophones.isEmpty
        status.isMicrophoneMuted = session.mute.all || session.mute.microphone
        (status.peakDbfs, status.levelDbfs) = (level?.peak, level?.rms)
        status.streams = session.openTargets.sorted { $0.key < $1.key }.compactMap { id, target in
            mixer[id].map { SoundSnapshot.Stream(target, $0) }
        }
        status.blocksWritten = blocksWritten
        status.problems = session.problems.map { "\($0)" } + [writeProblem].compactMap(\.self)
        status.playback.device = session.openTargets.values.compactMap(\.sink).first
        status.playback.volume = session.wish.volume
        status.playback.bufferMs = waiting * 1000
        status.playback.underruns = gaps + underruns + (player?.underruns ?? 0)
        status.playback.stretchPpm = (ratio - 1) * 1e6
        return status
    }
}

extension SoundSnapshot.Stream {
    init(_ target: SoundTarget, _ stream: CapturedStream) {
        let device =
            switch target {
            case .monitor(let name), .microphone(let name, _), .output(let name): name
            case .input(let index): "stream \(index)"
            }
        self.init(
            device: device,
            isMicrophone: target.isMicrophone,
            driftPpm: stream.needsReport ? nil : -stream.slope * 1e6,
            isResampled: stream.isResampled
        )
    }
}
