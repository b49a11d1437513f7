package import Access
package import FrameBridge
package import Media
import Posix
import Synchronization
import Time

/// The voices of participants with the right to speak. They go into the sender's ring for the sound process.
///
/// Audio of other participants is never decoded. Any thread may ask. Close it: until then its thread keeps it alive.
///
/// Its lock is taken within that of the access control, never the other way. So no sound of a participant comes in
/// after its right was taken back.
package final class TalkBack: SoundReceiver {
    /// A peer, for people.
    package struct Talker: Sendable, Equatable {
        package let state: TalkState
        /// The quality of its voice; nil if it is not heard.
        package let voice: Voice.Statistics?
    }

    struct Work {
        var packets: [(peer: ParticipantID, packet: ReceivedSound)] = []
        var heard: Set<ParticipantID> = []
        /// How many times a right was taken back while sound may stand in the ring.
        var revocations: UInt64 = 0
        /// When to ask for work without a ring of the bell.
        var deadline: Instant?
        var isClosed = false
    }

    /// The thread's result.
    struct Outcome {
        var loud: [ParticipantID] = []
        var statistics: [ParticipantID: Voice.Statistics] = [:]
        /// Whether the thread has nothing to do before a packet comes.
        var isIdle = true
    }

    private struct State {
        var packets: [(peer: ParticipantID, packet: ReceivedSound)] = []
        var statistics: [ParticipantID: Voice.Statistics] = [:]
        /// Whether the thread fetches packets without a ring of the bell.
        var isAwake = false
        /// The revocations, and the number of those that the thread has carried out.
        var revocations: (count: UInt64, carriedOut: UInt64) = (0, 0)
        var isClosed = false
    }

    /// The most packets that wait for the thread, which fetches them each 10 ms.
    private static let packetLimit = 512
    /// How long a revocation waits for the thread.
    private static let revocationLimit = Duration.milliseconds(500)

    private let access: AccessControl
    let bell = Bell()
    private let hasRevoked = Bell()
    private let state = Mutex(State())
    private let problem: @Sendable (String) -> Void
    /// Until the thread takes it.
    private let writer: Mutex<SoundWriter?>
    private let thread = Mutex<Thread?>(nil)

    /// - Parameters:
    ///   - access: decides on the right to speak, and on the floor.
    ///   - writer: of the sender's ring; from now on only for the thread.
    ///   - problem: gets a sentence on the fault that keeps voices from being heard, once, on the thread.
    package init(
        _ access: AccessControl,
        into writer: consuming sending SoundWriter,
        problem: @escaping @Sendable (String) -> Void
    ) {
        (self.access, self.problem) = (access, problem)
        self.writer = Mutex(writer)
    }

    /// Starts the thread. Call it once, when the process is in its sandbox.
    package func begin() throws {
        try thread.withLock { thread in
            thread = try Thread { [self] in
                let loop = TalkLoop(into: writer.withLock { $0.take()! }, problem)
                loop.run(for: self)
            }
        }
    }

    // MARK: - Sound

    package func receive(_ packet: ReceivedSound, from id: ParticipantID) {
        let isNews = access.change { engine, _ in
            state.withLock { state in
                guard !state.isClosed,
                    engine.hears(id, level: packet.level, isQuiet: packet.isQuiet, at: packet.arrivedAt)
                else { return false }
                if state.packets.count < Self.packetLimit { state.packets.append((id, packet)) }
                defer { state.isAwake = true }
                return !state.isAwake
            }
        }
        if isNews { bell.ring() }
    }

    /// Takes the right to speak from a participant. Its sound is no longer in the ring when this returns. Do not call
    /// it from outlets of the access control: the thread that this waits for may be performing one.
    ///
    /// - Returns: false if the participant has left.
    @discardableResult
    package func revoke(_ id: ParticipantID) -> Bool {
        let (isThere, revocation) = access.change { engine, now in
            let isThere = engine.revokeTalk(id, at: now)
            return state.withLock { state in
                // Also for a participant that has just fallen silent.
                state.revocations.count += 1
                return (isThere, state.revocations.count)
            }
        }
        bell.ring()
        hasRevoked.wait(until: MonotonicClock.now() + Self.revocationLimit) {
            state.withLock { $0.revocations.carriedOut >= revocation || $0.isClosed }
        }
        return isThere
    }

    /// A participant's right to speak, and the quality of its voice.
    package func talker(_ id: ParticipantID) -> Talker {
        access.read { engine in
            let voice = engine.isHeard(id) ? state.withLock { $0.statistics[id] } : nil
            return Talker(state: engine.talkState(of: id), voice: voice)
        }
    }

    /// Ends the thread. Later sound is discarded.
    package func close() {
        state.withLock { $0.isClosed = true }
        bell.ring()
        thread.withLock { $0.take() }?.join()
    }

    // MARK: - The thread's side

    func exchange(_ outcome: Outcome, at now: Instant) -> Work {
        access.change { engine, _ in
            for id in outcome.loud { engine.noteLoud(id, at: now) }
            engine.tick(now: now)
            return state.withLock { state in
                state.statistics = outcome.statistics
                // Packets of revoked participants are dropped here.
                let work = Work(
                    packets: state.packets.filter { engine.isHeard($0.peer) },
                    heard: engine.heard,
                    revocations: state.revocations.count,
                    deadline: engine.silenceDeadline,
                    isClosed: state.isClosed
                )
                state.packets.removeAll(keepingCapacity: true)
                if outcome.isIdle { state.isAwake = !work.packets.isEmpty }
                return work
            }
        }
    }

    func noteCarriedOut(_ revocations: UInt64) {
        state.withLock { $0.revocations.carriedOut = revocations }
        hasRevoked.ring()
    }
}
