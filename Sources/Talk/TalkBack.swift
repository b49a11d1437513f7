package import FrameBridge
package import Media
import Posix
import RTP
import Synchronization
import Time

/// What the peers of a sender say: who may, and the sound of those who do, which goes into the sender's ring for the sound process.
///
/// Nothing is decoded of whom nobody lets speak. Any thread may ask. Close it: until then its thread keeps it alive.
package final class TalkBack: SoundReceiver {
    /// A peer, as people are told of it.
    package struct Talker: Sendable, Equatable {
        package let state: TalkState
        /// How it is heard; nil if it is not.
        package let voice: Voice.Statistics?
    }

    /// What the thread has to do.
    struct Work {
        var packets: [(peer: ParticipantID, packet: ReceivedSound)] = []
        /// Who is heard.
        var heard: Set<ParticipantID> = []
        /// How often something was taken back that may stand in the ring.
        var revocations: UInt64 = 0
        /// When to ask for work although nothing comes.
        var deadline: Instant?
        var isClosed = false
    }

    /// What has come of it.
    struct Outcome {
        var loud: [ParticipantID] = []
        var statistics: [ParticipantID: Voice.Statistics] = [:]
        /// Whether the thread has nothing to do before something comes.
        var isIdle = true
    }

    private struct State {
        var talkers: Talkers
        var packets: [(peer: ParticipantID, packet: ReceivedSound)] = []
        var statistics: [ParticipantID: Voice.Statistics] = [:]
        /// Whether the thread looks for packets by itself.
        var isAwake = false
        /// What was taken back, and how much of that the thread has carried out.
        var revocations: (count: UInt64, carriedOut: UInt64) = (0, 0)
        var isClosed = false
    }

    /// The most packets that wait for the thread, which takes them each 10 ms.
    private static let packetLimit = 512
    /// How long a revocation waits for the thread.
    private static let revocationLimit = Duration.milliseconds(500)

    /// Where nobody is to be heard, no peer's sound is asked for.
    package let policy: TalkPolicy
    let bell = Bell()
    private let hasRevoked = Bell()
    private let state: Mutex<State>
    private let report: @Sendable (Talkers.Event) -> Void
    private let problem: @Sendable (String) -> Void
    /// Until the thread has it.
    private let writer: Mutex<SoundWriter?>
    private let thread = Mutex<Thread?>(nil)

    /// - Parameters:
    ///   - places: how many are heard at once, within `Talkers.placeLimits`.
    ///   - writer: of the sender's ring; used by the thread alone from here on.
    ///   - report: gets the events, on any thread.
    ///   - problem: gets a sentence on what keeps voices from being heard, once, on the thread.
    package init(
        _ policy: TalkPolicy,
        places: Int,
        into writer: consuming sending SoundWriter,
        report: @escaping @Sendable (Talkers.Event) -> Void,
        problem: @escaping @Sendable (String) -> Void
    ) {
        self.policy = policy
        (self.report, self.problem) = (report, problem)
        state = Mutex(State(talkers: Talkers(policy, places: places)))
        self.writer = Mutex(writer)
    }

    /// Starts the thread. Once, when the process is in its sandbox.
    package func begin() throws {
        try thread.withLock { thread in
            thread = try Thread { [self] in
                let loop = TalkLoop(into: writer.withLock { $0.take()! }, problem)
                loop.run(for: self)
            }
        }
    }

    // MARK: - Sound

    package func take(_ packet: ReceivedSound, from peer: ParticipantID) {
        let isQuiet = OpusPacket.isQuiet(packet.bytes)
        let (events, isNews) = state.withLock { state in
            guard !state.isClosed,
                state.talkers.hears(peer, level: packet.level, isQuiet: isQuiet, at: packet.arrivedAt)
            else { return (state.talkers.takeEvents(), false) }
            if state.packets.count < Self.packetLimit { state.packets.append((peer, packet)) }
            defer { state.isAwake = true }
            return (state.talkers.takeEvents(), !state.isAwake)
        }
        tell(events)
        if isNews { bell.ring() }
    }

    package func begin(_ peer: ParticipantID) { change { talkers, _ in talkers.begin(peer) } }

    package func end(_ peer: ParticipantID) { change { $0.end(peer, at: $1) } }

    // MARK: - Rights

    /// A peer that has come is known again by a key.
    package func identify(_ peer: ParticipantID, by key: String) {
        change { talkers, _ in talkers.identify(peer, by: key) }
    }

    /// A peer wants to speak.
    package func ask(_ peer: ParticipantID) -> TalkAnswer { change { $0.ask(peer, at: $1) } }

    /// A peer does not want to speak any more.
    package func withdraw(_ peer: ParticipantID) { change { $0.withdraw(peer, at: $1) } }

    /// Somebody lets a peer speak. Returns whether it is there.
    @discardableResult
    package func grant(_ peer: ParticipantID) -> Bool { change { talkers, _ in talkers.grant(peer) } }

    /// Somebody lets a peer not speak, or speak no more: nothing that it said is in the ring any more when this returns. Returns whether
    /// it is there.
    @discardableResult
    package func revoke(_ peer: ParticipantID) -> Bool {
        let (isThere, events, revocation) = state.withLock { state in
            let isThere = state.talkers.revoke(peer, at: MonotonicClock.now())
            // Also of one who has just fallen silent.
            state.revocations.count += 1
            return (isThere, state.talkers.takeEvents(), state.revocations.count)
        }
        tell(events)
        bell.ring()
        let deadline = MonotonicClock.now() + Self.revocationLimit
        while true {
            let rings = hasRevoked.count
            let isDone = state.withLock { $0.revocations.carriedOut >= revocation || $0.isClosed }
            if isDone || MonotonicClock.now() >= deadline { return isThere }
            hasRevoked.wait(while: rings, until: deadline)
        }
    }

    private func change<Result>(_ body: (inout Talkers, Instant) -> Result) -> Result {
        let (result, events) = state.withLock { state in
            let result = body(&state.talkers, MonotonicClock.now())
            return (result, state.talkers.takeEvents())
        }
        tell(events)
        return result
    }

    private func tell(_ events: [Talkers.Event]) { for event in events { report(event) } }

    /// What a peer may say, and how it is heard.
    package func talker(_ peer: ParticipantID) -> Talker {
        state.withLock { state in
            let isHeard = state.talkers.hasPlace(peer)
            return Talker(state: state.talkers.state(of: peer), voice: isHeard ? state.statistics[peer] : nil)
        }
    }

    /// Ends the thread. What comes later is thrown away.
    package func close() {
        state.withLock { $0.isClosed = true }
        bell.ring()
        thread.withLock { $0.take() }?.join()
    }

    // MARK: - The thread's side

    func exchange(_ outcome: Outcome, at now: Instant) -> Work {
        let (work, events) = state.withLock { state in
            for peer in outcome.loud { state.talkers.noteLoud(peer, at: now) }
            state.talkers.tick(at: now)
            state.statistics = outcome.statistics
            // What was taken back meanwhile is not heard.
            let work = Work(
                packets: state.packets.filter { state.talkers.hasPlace($0.peer) },
                heard: state.talkers.heard,
                revocations: state.revocations.count,
                deadline: state.talkers.nextDeadline,
                isClosed: state.isClosed
            )
            state.packets.removeAll(keepingCapacity: true)
            if outcome.isIdle { state.isAwake = !work.packets.isEmpty }
            return (work, state.talkers.takeEvents())
        }
        tell(events)
        return work
    }

    func noteCarriedOut(_ revocations: UInt64) {
        state.withLock { $0.revocations.carriedOut = revocations }
        hasRevoked.ring()
    }
}
