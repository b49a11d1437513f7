import Access
import Calls
import Configuration
import Control
import Helpers
import Media
import Peers
import Pixels
import Posix
import Sender
import Synchronization
import Talk
import Time

/// Does what commands ask of a running sender. Any thread may ask.
final class SenderCommands: Sendable {
    let calls: CallRegistry
    let access: AccessControl
    /// Nil where nobody is heard.
    let talk: TalkBack?
    let status: WebStatus
    /// The size of the source's picture; nil while that is not known.
    let screen: @Sendable () -> PixelSize?
    let tell: @Sendable (CallEvent) -> Void
    let desktop: SharedDesktop
    /// What all can do.
    let usual: Capabilities
    /// Messages for a program where there is none.
    let ignored = Mutex(0)
    private let work = Mutex(SenderWork())
    /// As the desktop knows it.
    private let isWatched = Mutex<Bool?>(nil)
    /// Of commands about the view.
    let turn = Mutex(())

    init(
        _ calls: CallRegistry,
        access: AccessControl,
        talk: TalkBack? = nil,
        _ status: WebStatus = WebStatus(),
        desktop: SharedDesktop = .none,
        usual: Capabilities = Capabilities(),
        screen: @escaping @Sendable () -> PixelSize? = { nil },
        tell: @escaping @Sendable (CallEvent) -> Void = { _ in }
    ) {
        (self.calls, self.access, self.talk) = (calls, access, talk)
        (self.status, self.screen, self.tell) = (status, screen, tell)
        (self.desktop, self.usual) = (desktop, usual)
    }

    /// What the encoders did in the last second; called once a second.
    func note(_ statistics: SenderStatistics) -> SenderSnapshot.Work {
        noteViewers()
        let bitrate = calls.sinks.target.bitsPerSecond
        let isThin = calls.peers?.targetBitrates.values.contains { $0 < bitrate } ?? false
        return work.withLock { work in
            work.note(statistics, isThin: isThin, at: MonotonicClock.now())
            return work.latest
        }
    }

    /// The frame on the screen may tell whether somebody watches.
    private func noteViewers() {
        let now = calls.participants.count > 0
        let isNews = isWatched.withLock { isWatched in
            defer { isWatched = now }
            return isWatched != now
        }
        guard isNews else { return }
        desktop.note(isWatched: now) { [self] refusal in
            if refusal?.reason == "busy" || refusal?.reason == "no_answer" { isWatched.withLock { $0 = nil } }
        }
    }

    func reply(to request: SenderRequest) -> SenderReply {
        switch request {
        case .status:
            let now: Instant = MonotonicClock.now()
            let peers = calls.peers
            let viewers = (peers?.statuses ?? []).compactMap { status -> ViewerSnapshot? in
                guard let someone = calls.participants[status.id] else { return nil }
                var viewer = ViewerSnapshot(someone, status, target: peers?.targetBitrate(for: status), at: now)
                let talker = talk?.talker(status.id)
                viewer.participant.talk = talker?.state ?? .off
                viewer.participant.voice = talker?.voice.map { ViewerSnapshot.Voice($0) }
                viewer.participant.note(leaseEnd: access.read { $0.leaseEnd(of: status.id) }, at: now)
                return viewer
            }
            let work = work.withLock(\.latest)
            let faults = calls.serverFaults
            let bitrate = calls.sinks.target.bitsPerSecond
            var report = SenderSnapshot(calls: calls.statuses(at: now), bitrateBps: bitrate, viewers: viewers)
            (report.quantizer, report.limit, report.sound) = (work.quantizer, work.limit, work.sound)
            if !faults.isEmpty { report.servers = faults.map { SenderSnapshot.Server($0, at: now) } }
            report.viewport = viewport?.edges
            let legibility = calls.sinks.view.legibility
            report.legibility = legibility == .off ? nil : legibility
            report.capabilities = desktop.isServed ? capabilities(for: .all) : nil
            report.messagesIgnored = ignored.withLock { $0 == 0 ? nil : $0 }
            let links = status.links
            if !links.isEmpty { (report.links, report.invites) = (links, invites(at: now)) }
            guard access.asks else { return .status(report: report) }
            report.knocks = access.read(\.waiting).map { knock in
                SenderSnapshot.Knock(
                    id: knock.number,
                    name: knock.name,
                    note: knock.note,
                    address: knock.address,
                    sinceS: milliseconds(now - knock.since) / 1000
                )
            }
            return .status(report: report)
        case .kick(let id): return kick(id)
        case .talk(let id, let isOn): return talk(id, isOn: isOn)
        case .accept(let knock): return answer(knock, .accepted)
        case .reject(let knock): return answer(knock, .rejected)
        case .forget(let name): return forget(name)
        case .invite(let token, let name, let rights, let seconds, let isForOne):
            return invite(token, name, rights, for: seconds, isForOne: isForOne)
        case .revoke(let invite): return revoke(invite)
        case .command(let command): return perform(command)
        case .add(let call, let settings): return reply { try calls.begin(call, settings) }
        case .leave(let call): return reply { try calls.leave(named: call) }
        // It never comes here (`Publisher`).
        case .subscribe: return .refused(reason: "this sender has no recordings")
        case .setBitrate(let bitrate):
            guard Bitrate.range ~= bitrate else { return .refused(reason: "\(bitrate) bits a second are out of range") }
            calls.sinks.setTarget(bitrate)
            return .done()
        }
    }

    private func reply(to body: () throws -> Void) -> SenderReply {
        do { try body() } catch { return .refused(reason: Failure(describing: error)?.sentence ?? "\(error)") }
        return .done()
    }
}

/// The work of the encoders in the last second.
struct SenderWork {
    /// The load of a core, 0…1, above which the processor counts as the limit.
    private static let largestLoad = 0.85

    private var last: (statistics: SenderStatistics, at: Instant)?
    private(set) var latest = SenderSnapshot.Work()

    /// - Parameter isThin: whether links keep an encoder below the bitrate that was set.
    mutating func note(_ statistics: SenderStatistics, isThin: Bool, at now: Instant) {
        defer { last = (statistics, now) }
        latest.sound = statistics.sound.map { SenderSnapshot.Sound($0, since: last, at: now) }
        guard let last else { return }
        let time = statistics.encodeTime + statistics.scaleTime - last.statistics.encodeTime - last.statistics.scaleTime
        let frames = statistics.framesEncoded - last.statistics.framesEncoded
        latest.quantizer = statistics.framesEncoded > 0 ? statistics.quantizer : nil
        if time > (now - last.at) * Self.largestLoad {
            latest.limit = .processor
        } else if frames <= 1, statistics.ticksSkipped == last.statistics.ticksSkipped {
            latest.limit = .still
        } else {
            latest.limit = isThin ? .link : nil
        }
    }
}

extension SenderSnapshot.Sound {
    /// - Parameter last: what the sender had done before, and when; nil if that is not known.
    fileprivate init(
        _ statistics: SoundStatistics,
        since last: (statistics: SenderStatistics, at: Instant)?,
        at now: Instant
    ) {
        self.init()
        channels = statistics.channels
        targetBps = statistics.bitrate
        packets = statistics.packets
        blocksLost = statistics.blocksLost
        silent = statistics.heardAt.map { now - $0 > .seconds(1) } ?? true
        if let last, now > last.at {
            let bytes = statistics.bytes - (last.statistics.sound?.bytes ?? statistics.bytes)
            bitrateBps = Int(Double(bytes * 8) / (now - last.at).seconds)
        }
    }
}

extension ViewerSnapshot.Voice {
    fileprivate init(_ voice: Voice.Statistics) {
        func thousandths(_ value: Double) -> Double { (value * 1000).rounded() / 1000 }
        self.init(
            levelDb: voice.level.map { ($0 * 10).rounded() / 10 },
            lossRatio: thousandths(voice.lossRatio),
            concealedRatio: thousandths(voice.concealedRatio),
            bufferMs: milliseconds(voice.wait)
        )
    }
}
