import JSON
import SocketIO
import Synchronization
import TestSupport
import Testing
import Time

@testable import Calls

/// A day of a server of rooms and its clients, in virtual time: connections are cut, machines sleep, the server is started again.
@Suite struct PresenceTests {
    /// The clients, two of a room, with all below them, and the server's rooms.
    private struct Day {
        static let clientCount = 4

        var simulation: SocketSimulation
        var rooms = Day.makeRooms()
        var sessions: [RoomSession] = []
        /// By client, the id of its connection; nil while there is none.
        var ids = [String?](repeating: nil, count: clientCount)
        /// When the network or a machine last had trouble that concerns the client.
        var troubleAt = [Instant](repeating: .start, count: clientCount)
        var asleepSince = [Instant?](repeating: nil, count: clientCount)
        private var servers = 0

        init(seed: UInt64) {
            simulation = SocketSimulation(Self.makeServer(0), seed: seed)
            for client in 0..<Self.clientCount {
                var introduction = RoomIntroduction()
                (introduction.name, introduction.receives) = ("\(client)", true)
                sessions.append(RoomSession(room: Self.room(of: client), introduction))
                let token = JSONText(object: [("token", JSONText(string: "token \(client)"))])
                simulation.add(hasSockets: client % 2 == 0, payload: token)
            }
        }

        static func room(of client: Int) -> String { "room \(client / 2)" }

        private static func makeRooms() -> Rooms {
            Rooms(server: RoomServer(), otherJoinedName: .otherjoin) { _ in }
        }

        private static func makeServer(_ number: Int) -> SocketServer {
            let count = Mutex(0)
            return SocketServer(limits: EngineLimits(sessions: 100)) {
                count.withLock { count in
                    count += 1
                    return "\(number)-\(count)"
                }
            }
        }

        var now: Instant { simulation.now }

        mutating func restartServer() {
            servers += 1
            rooms = Self.makeRooms()
            simulation.replaceServer(by: Self.makeServer(servers))
            for client in ids.indices { troubleAt[client] = now }
            react()
        }

        /// - Parameter isNoticed: whether the server notices.
        mutating func cut(_ client: Int, isNoticed: Bool) {
            simulation.cut(client, isNoticed: isNoticed)
            troubleAt[client] = now
            react()
        }

        mutating func fallAsleep(_ client: Int) {
            simulation.isFrozen.insert(client)
            asleepSince[client] = now
        }

        mutating func wakeUp(_ client: Int) {
            simulation.isFrozen.remove(client)
            (asleepSince[client], troubleAt[client]) = (nil, now)
        }

        mutating func say(_ client: Int) {
            guard asleepSince[client] == nil else { return }
            let message = RoomMessage.candidate(line: "candidate:1")
            let packet = RoomEvent.message(room: Self.room(of: client), message.data).packet()
            _ = simulation.change(client: client) { $0.send(packet, now: $1) }
        }

        mutating func run(for duration: Duration) {
            let end = now + duration
            var due = earliestDeadline
            while true {
                if simulation.step(until: min(due ?? end, end)) {
                    if !simulation.hasOutputs { continue }
                } else if let instant = due, instant <= end {
                    for client in sessions.indices where asleepSince[client] == nil {
                        sessions[client].tick(now: now)
                        act(client)
                    }
                } else {
                    return
                }
                react()
                due = earliestDeadline
            }
        }

        private var earliestDeadline: Instant? {
            sessions.indices.filter { asleepSince[$0] == nil }.compactMap { sessions[$0].nextDeadline }.min()
        }

        // MARK: - Between them

        private mutating func react() {
            while true {
                let outputs = simulation.takeServerOutputs()
                for output in outputs {
                    var rooms = rooms
                    simulation.changeServer { server, _ in rooms.react(to: output, of: &server) }
                    self.rooms = rooms
                }
                var isQuiet = outputs.isEmpty
                for client in sessions.indices {
                    let outputs = simulation.takeOutputs(of: client)
                    for output in outputs { take(output, of: client) }
                    isQuiet = isQuiet && outputs.isEmpty
                }
                if isQuiet { return }
            }
        }

        private mutating func take(_ output: SocketClient.Output, of client: Int) {
            switch output {
            case .transport: break
            case .connected(let id):
                ids[client] = id
                sessions[client].connected()
            case .received(let packet):
                if let event = RoomEvent(packet) { sessions[client].received(event, now: now) }
            case .disconnected(let reason, let retryAt):
                #expect(retryAt != nil, "\(client) is let go: \(reason)")
                #expect(now <= troubleAt[client] + .seconds(1), "\(client) is dropped without a reason: \(reason)")
                ids[client] = nil
                sessions[client].lost(now: now)
            }
            act(client)
        }

        private mutating func act(_ client: Int) {
            for output in sessions[client].takeOutputs() {
                switch output {
                case .emit(let event): _ = simulation.change(client: client) { $0.send(event.packet(), now: $1) }
                case .offer, .acceptOffer:
                    sessions[client].described("v=0")
                    act(client)
                case .ended(let end): Issue.record("\(client) \(end)")
                default: break
                }
            }
        }
    }

    /// How long who was cut off, or slept, may take to be there again.
    private static let returnTime = Duration.seconds(5)
    /// How long machines sleep: until after the end of a ping's patience, a night, and not even a ping.
    private static let sleeps: [Duration] = [10, 30, 50, 70, 600, 3600, 10_000, 30_000].map { .seconds($0) }

    private func check(_ day: Day, _ step: Int) {
        for client in 0..<Day.clientCount {
            let members = day.rooms.server.rooms[Day.room(of: client)] ?? []
            if let since = day.asleepSince[client] {
                guard day.now > since + .seconds(60), let id = day.ids[client] else { continue }
                #expect(!members.contains(id), "\(client) is silent, and present: step \(step)")
            } else if day.now >= day.troubleAt[client] + Self.returnTime {
                let isThere = day.ids[client].map { members.contains($0) } ?? false
                #expect(isThere, "\(client) is not there: step \(step)")
            }
        }
    }

    /// The values of which something consists, all together.
    private func weight(_ value: Any) -> Int {
        Mirror(reflecting: value).children.reduce(1) { $0 + weight($1.value) }
    }

    /// Invariant: admitted.
    @Test(arguments: [1, 2] as [UInt64]) func aDay(seed: UInt64) {
        var random = SplitMix(seed: seed)
        func happens(every seconds: Double) -> Bool { Double.random(in: 0..<seconds, using: &random) < 5 }
        var day = Day(seed: seed)
        var wakeAt = [Instant?](repeating: nil, count: Day.clientCount)
        let end = day.now + .seconds(24 * 3600)
        var (step, sleeps, restarts, cuts) = (0, 0, 0, 0)
        var largest = 0
        day.run(for: Self.returnTime)
        while day.now < end {
            step += 1
            for client in 0..<Day.clientCount {
                if let at = wakeAt[client] {
                    guard at <= day.now else { continue }
                    wakeAt[client] = nil
                    day.wakeUp(client)
                } else if happens(every: 4 * 3600) {
                    sleeps += 1
                    wakeAt[client] = day.now + Self.sleeps.randomElement(using: &random)!
                    day.fallAsleep(client)
                } else if happens(every: 1800) {
                    cuts += 1
                    day.cut(client, isNoticed: .random(using: &random))
                } else if happens(every: 60) {
                    day.say(client)
                }
            }
            if happens(every: 3 * 3600) {
                restarts += 1
                day.restartServer()
            }
            day.run(for: .seconds(5))
            check(day, step)
            if step.isMultiple(of: 720) { largest = max(largest, weight(day.simulation.server) + weight(day.rooms)) }
        }
        #expect(sleeps > 5 && restarts > 2 && cuts > 50)
        // Nothing of those who were there is left.
        for client in 0..<Day.clientCount where wakeAt[client] != nil { day.wakeUp(client) }
        day.run(for: .seconds(120))
        check(day, step)
        #expect(day.rooms.server.rooms.count == Day.clientCount / 2)
        #expect(day.simulation.server.engine.sessionCount == Day.clientCount)
        for client in 0..<Day.clientCount {
            #expect(day.rooms.server.rooms[Day.room(of: client)]?.count == 2)
            #expect(day.sessions[client].isConnected, "\(client) has met the other one")
        }
        let rest = weight(day.simulation.server) + weight(day.rooms)
        var fresh = Day(seed: seed)
        fresh.run(for: .seconds(120))
        let smallest = weight(fresh.simulation.server) + weight(fresh.rooms)
        #expect(rest <= 2 * smallest && largest <= 4 * smallest, "\(smallest) \(largest) \(rest)")
    }
}
