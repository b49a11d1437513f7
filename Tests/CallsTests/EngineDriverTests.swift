import Posix
import Synchronization
import TestSupport
import Testing
import Time
import WebRTC

@testable import Calls

@Suite struct EngineDriverTests {
    /// Gives out what it is told, and notes when it is ticked.
    private struct Toy: Engine {
        var deadline: Instant?
        var ticks: [Instant] = []
        var outputs: [Int] = []

        var nextDeadline: Instant? { deadline }

        mutating func tick(now: Instant) {
            ticks.append(now)
            if let deadline, deadline <= now { self.deadline = nil }
        }

        mutating func takeOutputs() -> [Int] {
            defer { outputs = [] }
            return outputs
        }
    }

    /// A clock and the timers that were begun by it.
    private final class Time: Sendable {
        typealias Timer = (at: Instant, body: @Sendable () -> Void)

        private let state = Mutex<(now: Instant, timers: [Timer])>((.seconds(100), []))

        var now: Instant { state.withLock(\.now) }
        var timers: [Instant] { state.withLock { $0.timers.map(\.at) } }

        func schedule(in delay: Duration, _ body: @escaping @Sendable () -> Void) {
            state.withLock { $0.timers.append(($0.now + delay, body)) }
        }

        func pass(_ duration: Duration) {
            let end = now + duration
            while let timer = takeTimer(until: end) { timer.body() }
            state.withLock { $0.now = end }
        }

        private func takeTimer(until end: Instant) -> Timer? {
            state.withLock { state in
                let due = state.timers.indices.min { state.timers[$0].at < state.timers[$1].at }
                guard let due, state.timers[due].at <= end else { return nil }
                state.now = max(state.now, state.timers[due].at)
                return state.timers.remove(at: due)
            }
        }
    }

    private final class Owner<Machine: Engine>: Sendable {
        let driver: EngineDriver<Machine>
        let performed = Mutex<[Machine.Output]>([])

        init(_ engine: Machine, _ time: Time) {
            driver = EngineDriver(engine, clock: { time.now }, schedule: { time.schedule(in: $0, $1) })
        }
    }

    private let time = Time()

    private func change(_ owner: Owner<Toy>, _ body: (inout Toy, Instant) -> Void) {
        owner.driver.change(for: owner, body) { owner, output, _ in owner.performed.withLock { $0.append(output) } }
    }

    // MARK: - The timer

    @Test func onlyAnEarlierDeadlineBeginsATimer() {
        let owner = Owner(Toy(), time)
        for (deadline, timers) in [
            (nil, []), (10, [10]), (10, [10]), (20, [10]), (5, [10, 5]), (nil, [10, 5]), (7, [10, 5]),
        ] as [(Double?, [Double])] {
            change(owner) { toy, _ in toy.deadline = deadline.map { .seconds(100 + $0) } }
            #expect(time.timers == timers.map { .seconds(100 + $0) })
        }
    }

    /// The timer of a deadline that became a later one begins the next; one that an earlier one replaced does nothing.
    @Test func theEngineIsTickedOnceForEachTimerThatCounts() {
        let owner = Owner(Toy(), time)
        change(owner) { toy, _ in toy.deadline = .seconds(110) }
        change(owner) { toy, _ in toy.deadline = .seconds(105) }
        change(owner) { toy, _ in toy.deadline = .seconds(120) }
        time.pass(.seconds(60))
        #expect(owner.driver.read(\.ticks) == [.seconds(105), .seconds(120)])
        #expect(owner.driver.read(\.deadline) == nil && time.timers.isEmpty)
    }

    @Test func aDeadlineThatIsOverIsDueAtOnce() {
        let owner = Owner(Toy(), time)
        change(owner) { toy, _ in toy.deadline = .seconds(90) }
        #expect(time.timers == [.seconds(100)])
        time.pass(.zero)
        #expect(owner.driver.read(\.ticks) == [.seconds(100)])
    }

    @Test func aTimerKeepsNobody() {
        weak var weakOwner: Owner<Toy>?
        weak var weakDriver: EngineDriver<Toy>?
        do {
            let owner = Owner(Toy(), time)
            (weakOwner, weakDriver) = (owner, owner.driver)
            change(owner) { toy, _ in toy.deadline = .seconds(110) }
        }
        #expect(weakOwner == nil && weakDriver == nil && time.timers.count == 1)
        time.pass(.seconds(60))
    }

    // MARK: - The order of outputs

    @Test func whatFollowsFromAnOutputWaitsForItsTurn() {
        let owner = Owner(Toy(), time)
        @Sendable func change(_ outputs: [Int]) {
            owner.driver.change(for: owner) { toy, _ in
                toy.outputs += outputs
            } perform: { owner, output, _ in
                owner.performed.withLock { $0.append(output) }
                if output < 100 { change([output * 100, output * 100 + 1]) }
            }
            owner.performed.withLock { $0.append(-1) }
        }
        change([1, 2])
        #expect(owner.performed.withLock(\.self) == [1, -1, 2, -1, 100, 101, 200, 201, -1])
    }

    @Test func onlyOneThreadPerformsAtATime() throws {
        let owner = Owner(Toy(), time)
        let (threads, changes) = (4, 500)
        let isPerforming = Atomic(false)
        let overlaps = Atomic(0)
        let work = try (0..<threads).map { thread in
            try Worker {
                for index in 0..<changes {
                    owner.driver.change(for: owner) { toy, _ in
                        toy.outputs.append(thread * changes + index)
                    } perform: { owner, output, _ in
                        if isPerforming.exchange(true, ordering: .sequentiallyConsistent) {
                            overlaps.add(1, ordering: .relaxed)
                        }
                        owner.performed.withLock { $0.append(output) }
                        isPerforming.store(false, ordering: .sequentiallyConsistent)
                    }
                }
            }
        }
        for worker in work { worker.join() }
        #expect(overlaps.load(ordering: .relaxed) == 0)
        let performed = owner.performed.withLock(\.self)
        #expect(performed.sorted() == Array(0..<threads * changes))
        for thread in 0..<threads {
            let own = performed.filter { $0 / changes == thread }
            #expect(own == own.sorted())
        }
    }

    private final class Worker {
        private var thread: Thread?

        init(_ body: @escaping @Sendable () -> Void) throws { thread = try Thread(body) }

        func join() { thread.take()?.join() }
    }

    // MARK: - A room

    /// The other member of a room comes again, is recognized, and its former peer is closed: all of it follows from one tick. The
    /// peer that is opened for it is not the one that is closed.
    @Test func aKnownMemberThatComesAgainKeepsItsNewPeer() {
        var introduction = RoomIntroduction()
        (introduction.asks, introduction.receives) = (true, true)
        let owner = Owner(RoomSession(room: "r", introduction), time)
        let peers = Mutex<(opened: Int, open: Int?)>((0, nil))
        introduction.asks = false
        introduction.fingerprint = RoomMeeting.fingerprint(1)
        @Sendable func change(_ body: (inout RoomSession, Instant) -> Void) {
            owner.driver.change(for: owner, body) { [time] owner, output, _ in
                switch output {
                case .offer:
                    peers.withLock { peers in
                        peers.opened += 1
                        peers.open = peers.opened
                    }
                    change { session, _ in session.described(RoomMeeting.sdp(0)) }
                case .closePeer: peers.withLock { $0.open = nil }
                case .recognize: change { session, _ in session.recognized() }
                case .listen: change { session, _ in session.heard(at: time.now - .seconds(60)) }
                default: break
                }
            }
        }
        func come(as id: String) {
            change { session, now in session.received(.otherJoined(room: "r", id: id), now: now) }
            let hello = RoomMessage.hello(introduction).data
            change { session, now in session.received(.message(room: "r", hello), now: now) }
        }
        change { session, _ in session.connected() }
        change { session, now in session.received(.joined(room: "r", id: "own"), now: now) }
        come(as: "first")
        let answer = RoomMessage.answer(sdp: RoomMeeting.sdp(1)).data
        change { session, now in session.received(.message(room: "r", answer), now: now) }
        change { session, _ in session.peerConnected() }
        #expect(peers.withLock(\.open) == 1)
        come(as: "second")
        time.pass(.seconds(10))
        #expect(peers.withLock { $0.open == 2 && $0.opened == 2 })
    }
}
