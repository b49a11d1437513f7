import JSON
import Synchronization
import TestSupport
import Testing
import Time

@testable import SocketIO

/// The client against the server, over a network with a time of its own.
@Suite struct ClientServerTests {
    enum Way: CaseIterable {
        case webSocket, polling
    }

    private func server(
        _ settings: EngineSession.Settings = .init(),
        namespaces: Set<String> = ["/"],
        mostSessions: Int = 100
    ) -> SocketServer {
        let count = Mutex(0)
        let limits = EngineLimits(sessions: mostSessions)
        return SocketServer(namespaces: namespaces, settings: settings, limits: limits) {
            count.withLock { count in
                count += 1
                return "id\(count)"
            }
        }
    }

    private func number(_ number: Int) -> SocketPacket { .event("n", [JSONText("\(number)".utf8)!]) }

    private func numbers(_ packets: some Sequence<SocketPacket>) -> [Int] {
        packets.compactMap { $0.data?.elements?.last?.integer }
    }

    private func numbers(atServer simulation: SocketSimulation, of id: String? = nil) -> [Int] {
        numbers(
            simulation.serverOutputs.compactMap { output in
                if case .received(let client, let packet) = output, id == nil || client == id { packet } else { nil }
            }
        )
    }

    private func numbers(atClient client: Int, in simulation: SocketSimulation) -> [Int] {
        numbers(
            simulation.clientOutputs[client].compactMap { if case .received(let packet) = $0 { packet } else { nil } }
        )
    }

    private func id(of client: Int, in simulation: SocketSimulation) -> String? {
        simulation.clientOutputs[client].reversed().lazy.compactMap { output in
            if case .connected(let id) = output { id } else { nil }
        }.first
    }

    /// What is sent arrives, once and in order.
    @Test(arguments: Way.allCases, 1...5) func nothingIsLostOrReordered(way: Way, seed: UInt64) throws {
        var simulation = SocketSimulation(server(), seed: seed)
        let client = simulation.add(hasSockets: way == .webSocket, payload: JSONText(#"{"token":"t"}"#.utf8))
        simulation.run(for: .seconds(1))
        let name = try #require(id(of: client, in: simulation))
        #expect(
            simulation.serverOutputs.first == .connected(client: name, namespace: "/", JSONText(#"{"token":"t"}"#.utf8))
        )
        for step in 0..<300 {
            let isSent = simulation.change(client: client) { $0.send(number(step), now: $1) }
            #expect(isSent)
            simulation.changeServer { server, _ in server.send(number(step), to: name) }
            simulation.run(for: .milliseconds(step % 7))
        }
        simulation.run(for: .seconds(300))
        #expect(numbers(atServer: simulation) == Array(0..<300))
        #expect(numbers(atClient: client, in: simulation) == Array(0..<300))
        #expect(simulation.clientOutputs[client].count { if case .disconnected = $0 { true } else { false } } == 0)
    }

    @Test func attachmentsStayWithTheirPacket() throws {
        for way in Way.allCases {
            var simulation = SocketSimulation(server(), seed: 3)
            let client = simulation.add(hasSockets: way == .webSocket)
            simulation.run(for: .milliseconds(300))
            let place = JSONText(#"{"_placeholder":true,"num":0}"#.utf8)!
            var packet = SocketPacket.event("b", [place, JSONText("1".utf8)!])
            (packet.kind, packet.attachments) = (.binaryEvent, [[0, 255], []])
            _ = simulation.change(client: client) { [packet] in $0.send(packet, now: $1) }
            simulation.run(for: .seconds(1))
            let name = try #require(id(of: client, in: simulation))
            #expect(simulation.serverOutputs.last == .received(client: name, packet))
        }
    }

    /// Two days of silence: both sides stay.
    @Test(arguments: Way.allCases) func presenceLasts(way: Way) {
        var simulation = SocketSimulation(server(), seed: 1)
        let client = simulation.add(hasSockets: way == .webSocket)
        simulation.run(for: .seconds(48 * 3600))
        #expect(simulation.clients[client].isConnected)
        #expect(simulation.serverOutputs.count == 1)
    }

    @Test(arguments: Way.allCases) func aSilentPeerIsGoneWithinAMinute(way: Way) throws {
        var simulation = SocketSimulation(server(), seed: 2)
        let client = simulation.add(hasSockets: way == .webSocket)
        simulation.run(for: .seconds(1))
        let name = try #require(id(of: client, in: simulation))
        simulation.isFrozen = [client]
        simulation.run(for: .seconds(60))
        #expect(simulation.serverOutputs.last == .disconnected(client: name, .silent))
        simulation.isFrozen = []
        simulation.run(for: .seconds(60))
        #expect(simulation.clients[client].isConnected)
        #expect(id(of: client, in: simulation) != name)
    }

    /// Its machine was suspended: the server has given the connection up, and the client's clock does not show it.
    /// Invariant: oneClock.
    @Test(arguments: Way.allCases, [46, 100, 3600]) func whoWasSuspendedIsBackAtOnce(way: Way, seconds: Int) throws {
        for isNoticed in [true, false] {
            var simulation = SocketSimulation(server(), seed: 5)
            let client = simulation.add(hasSockets: way == .webSocket)
            simulation.run(for: .seconds(2))
            let name = try #require(id(of: client, in: simulation))
            simulation.suspend(client, for: .seconds(seconds), isCutOff: true, isNoticed: isNoticed)
            #expect(simulation.serverOutputs.contains(.disconnected(client: name, .silent)))
            simulation.run(for: .seconds(1))
            #expect((simulation.clients[client].isConnected && id(of: client, in: simulation) != name) == isNoticed)
        }
    }

    /// For less time than the server waits for an answer to its ping.
    @Test(arguments: Way.allCases, [1, 10, 19]) func whoWasSuspendedBrieflyStays(way: Way, seconds: Int) throws {
        for start in [2, 12, 24] {
            var simulation = SocketSimulation(server(), seed: 5)
            let client = simulation.add(hasSockets: way == .webSocket)
            simulation.run(for: .seconds(start))
            let name = try #require(id(of: client, in: simulation))
            simulation.suspend(client, for: .seconds(seconds))
            simulation.run(for: .seconds(100))
            #expect(simulation.clients[client].isConnected && id(of: client, in: simulation) == name)
        }
    }

    @Test(arguments: Way.allCases) func aServerThatIsBackIsFoundWithinTwoSeconds(way: Way) {
        var simulation = SocketSimulation(server(), seed: 4)
        let client = simulation.add(hasSockets: way == .webSocket)
        simulation.run(for: .seconds(1))
        simulation.replaceServer(by: server())
        simulation.run(for: .seconds(2))
        #expect(simulation.clients[client].isConnected)
        simulation.changeServer { server, _ in server.send(number(7), to: "id2") }
        simulation.run(for: .seconds(1))
        #expect(numbers(atClient: client, in: simulation) == [7])
    }

    @Test func aServerThatIsFullIsTriedAgain() {
        var simulation = SocketSimulation(server(mostSessions: 1), seed: 1)
        let (first, second) = (simulation.add(), simulation.add())
        simulation.run(for: .seconds(10))
        #expect(simulation.clients[first].isConnected && !simulation.clients[second].isConnected)
        simulation.change(client: first) { $0.close(now: $1) }
        simulation.run(for: .seconds(2))
        #expect(simulation.clients[second].isConnected)
    }

    @Test func whoIsRefusedOrSentAwayDoesNotComeBack() throws {
        var simulation = SocketSimulation(server(namespaces: ["/other"]), seed: 1)
        simulation.add()
        simulation.run(for: .seconds(100))
        #expect(simulation.clientOutputs[0] == [.disconnected(.refused("Invalid namespace"), retryAt: nil)])

        simulation = SocketSimulation(server(), seed: 1)
        simulation.add(hasSockets: false)
        simulation.run(for: .seconds(1))
        simulation.changeServer { server, _ in server.disconnect("id2") }
        simulation.run(for: .seconds(100))
        #expect(simulation.clientOutputs[0].last == .disconnected(.sentAway, retryAt: nil))
        #expect(simulation.clientOutputs[0].count == 2)
    }

    /// Also while a POST is under way.
    @Test(arguments: Way.allCases) func aClientThatClosesIsGoneAtOnce(way: Way) {
        var simulation = SocketSimulation(server(), seed: 6)
        let client = simulation.add(hasSockets: way == .webSocket)
        simulation.run(for: .seconds(1))
        _ = simulation.change(client: client) { $0.send(number(1), now: $1) }
        simulation.change(client: client) { $0.close(now: $1) }
        simulation.run(for: .seconds(1))
        #expect(simulation.serverOutputs.count { if case .disconnected = $0 { true } else { false } } == 1)
        simulation.run(for: .seconds(100))
        #expect(!simulation.clients[client].isConnected)
    }

    @Test func nothingIsSentBeforeTheConnectionStands() {
        var simulation = SocketSimulation(server(), seed: 1)
        let client = simulation.add()
        let isSent = simulation.change(client: client) { $0.send(number(1), now: $1) }
        #expect(!isSent)
        simulation.run(for: .seconds(1))
        #expect(numbers(atServer: simulation).isEmpty)
    }

    /// Ten thousand steps of cuts, freezes, messages and time: each connection gets what was sent on it, in order and without a
    /// gap but at its end; and when peace comes, all are there.
    @Test(arguments: 1...4) func aRandomWalk(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        var simulation = SocketSimulation(server(), seed: seed)
        for client in 0..<4 { simulation.add(hasSockets: client % 2 == 0) }
        // By the id of a connection, what was sent on it.
        var sent: [String: [Int]] = [:]
        for step in 0..<10_000 {
            let client = Int.random(in: 0..<4, using: &random)
            switch Int.random(in: 0..<100, using: &random) {
            case 0: simulation.cut(client)
            case 1: simulation.isFrozen.formSymmetricDifference([client])
            case 2..<50:
                let name = id(of: client, in: simulation)
                if !simulation.isFrozen.contains(client),
                    simulation.change(client: client, { $0.send(number(step), now: $1) })
                {
                    sent[name!, default: []].append(step)
                }
            case 50..<52: simulation.run(for: .seconds(Int.random(in: 1...30, using: &random)))
            default: simulation.run(for: .milliseconds(Int.random(in: 0...30, using: &random)))
            }
        }
        simulation.isFrozen = []
        simulation.run(for: .seconds(60))
        #expect(!simulation.clients.contains { !$0.isConnected })
        var arrived: [String: [Int]] = [:]
        for case .received(let name, let packet) in simulation.serverOutputs {
            arrived[name, default: []] += numbers([packet])
        }
        #expect(arrived.values.map(\.count).reduce(0, +) > 1000)
        for (name, numbers) in arrived { #expect(sent[name]?.starts(with: numbers) ?? false, "\(name)") }
        for client in 0..<4 {
            let name = try #require(id(of: client, in: simulation))
            #expect(arrived[name] ?? [] == sent[name] ?? [], "the last connection stands")
        }
    }
}
