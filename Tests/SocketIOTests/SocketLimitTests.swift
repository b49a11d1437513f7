import JSON
import Synchronization
import TestSupport
import Testing
import Time

@testable import SocketIO

/// What clients may ask of a server, however often they begin anew.
@Suite struct SocketLimitTests {
    private struct Bench {
        var server: SocketServer
        var now = Instant.seconds(1)
        private var lastID: UInt64 = 0

        init(_ limits: EngineLimits = EngineLimits(sessions: 100), timeout: Duration = .seconds(10)) {
            let count = Mutex(0)
            server = SocketServer(
                limits: limits,
                connectTimeout: timeout,
                refusal: { $0?["bad"] == nil ? nil : "it is bad" }
            ) {
                count.withLock { count in
                    count += 1
                    return "id\(count)"
                }
            }
        }

        /// Opens a session by a WebSocket. Returns what came of it, too.
        mutating func open(from network: String = "") -> (socket: UInt64, outputs: [SocketServer.Output]) {
            lastID += 1
            let query = EngineServer.Query(revision: "4", transport: "websocket", sid: nil, network: network)
            server.engine.open(socket: lastID, query, now: now)
            return (lastID, server.takeOutputs())
        }

        /// Opens a session by a GET. Returns its name; nil if it was refused.
        mutating func openByPolling(from network: String = "") -> String? {
            for case .transport(.answer(_, let body)) in request(.get, from: network) {
                return JSONText(body.dropFirst())?["sid"]?.string
            }
            return nil
        }

        mutating func sid(from network: String = "") throws -> String {
            let sid = openByPolling(from: network)
            return try #require(sid)
        }

        mutating func send(_ text: String, on socket: UInt64) -> [SocketServer.Output] {
            server.engine.receive(.text(Array(text.utf8)), on: socket, now: now)
            return server.takeOutputs()
        }

        mutating func request(
            _ method: EngineServer.Method,
            _ sid: String? = nil,
            _ body: String = "",
            from network: String = ""
        ) -> [SocketServer.Output] {
            lastID += 1
            let query = EngineServer.Query(revision: "4", transport: "polling", sid: sid, network: network)
            server.engine.receive(method, query, body: Array(body.utf8), request: lastID, now: now)
            return server.takeOutputs()
        }

        /// The number of the request or WebSocket that was opened last.
        var last: UInt64 { lastID }

        mutating func wait(_ duration: Duration) -> [SocketServer.Output] {
            now = now + duration
            server.engine.tick(now: now)
            return server.takeOutputs()
        }

        /// Sends an event until the WebSocket is closed. Returns how often it came through.
        mutating func flood(_ socket: UInt64, most: Int = 10_000, before: (inout Bench, Int) -> Bool = { _, _ in true })
            -> Int
        {
            for count in 0..<most {
                guard before(&self, count) else { return count }
                let outputs = send(#"42["a"]"#, on: socket)
                if outputs.contains(.transport(.close(socket: socket))) { return count }
            }
            return most
        }
    }

    private func isClosed(_ outputs: [SocketServer.Output], _ socket: UInt64) -> Bool {
        outputs.contains(.transport(.close(socket: socket)))
    }

    private func body(_ text: String, of answer: UInt64) -> SocketServer.Output {
        .transport(.answer(request: answer, body: Array(text.utf8)))
    }

    private func refusal(_ refusal: EngineServer.Refusal, of request: UInt64) -> SocketServer.Output {
        .transport(.refuse(request: request, refusal))
    }

    // MARK: - Packets

    @Test func aFloodEndsTheSession() {
        var bench = Bench()
        let (socket, _) = bench.open()
        _ = bench.send("40", on: socket)
        // 200 a second go on for ever.
        for _ in 0..<1000 {
            _ = bench.wait(.milliseconds(5))
            #expect(bench.send(#"42["a"]"#, on: socket).count == 1)
        }
        #expect(400...500 ~= bench.flood(socket))
    }

    @Test func connectingAgainBringsNoCredits() {
        var bench = Bench()
        let (socket, _) = bench.open()
        _ = bench.send("40", on: socket)
        let count = bench.flood(socket) { bench, count in
            guard count > 0, count % 100 == 0 else { return true }
            return !(bench.send("41", on: socket) + bench.send("40", on: socket)).contains(
                .transport(.close(socket: socket))
            )
        }
        #expect(400..<500 ~= count)
    }

    @Test func bytesCountToo() {
        var bench = Bench()
        let (socket, _) = bench.open()
        _ = bench.send("40", on: socket)
        let event = #"42["\#(String(repeating: "x", count: 100_000))"]"#
        let count = (0..<100).first { _ in isClosed(bench.send(event, on: socket), socket) }
        #expect(8...12 ~= count ?? 100)
    }

    /// Nothing of it is done, and nothing is said of each.
    @Test(arguments: ["40\u{1E}41", "42[\"a\"]", "3"]) func aPostOfTooManyPacketsIsRefusedUnread(packet: String) throws
    {
        var bench = Bench()
        let sid = try bench.sid()
        let posted = [String](repeating: packet, count: 501).joined(separator: "\u{1E}")
        #expect(bench.request(.post, sid, posted) == [refusal(.tooManyPackets, of: bench.last)])
        #expect(bench.request(.get, sid) == [refusal(.unknownSession, of: bench.last)])
    }

    @Test func postsSpendWhatFramesDo() throws {
        var bench = Bench()
        let sid = try bench.sid()
        _ = bench.request(.post, sid, "40")
        let events = [String](repeating: #"42["a"]"#, count: 400).joined(separator: "\u{1E}")
        #expect(bench.request(.post, sid, events).count == 401)
        #expect(bench.request(.post, sid, events).last == refusal(.tooManyPackets, of: bench.last))
    }

    /// New sessions have credits of their own, which the network pays.
    /// Invariant: admitted.
    @Test func aNetworkPaysForAllItsSessions() {
        var bench = Bench()
        let quiet = bench.open(from: "near").socket
        let far = bench.open(from: "far").socket
        for socket in [quiet, far] { _ = bench.send("40", on: socket) }
        var count = 0
        for _ in 0..<40 {
            let (socket, _) = bench.open(from: "near")
            if !isClosed(bench.send("40", on: socket), socket) { count += bench.flood(socket) }
        }
        #expect(4000..<5000 ~= count, "each has a few that cost its network nothing")
        // Those who say little go on, and so does everybody elsewhere.
        for _ in 0..<10 { #expect(bench.send(#"42["a"]"#, on: quiet).count == 1) }
        #expect(bench.flood(far, most: 450) == 450)
        // The network's credits come back.
        _ = bench.wait(.seconds(1))
        let (socket, _) = bench.open(from: "near")
        _ = bench.send("40", on: socket)
        #expect(bench.flood(socket, most: 450) == 450)
    }

    // MARK: - Begins

    @Test func aNetworkBeginsSoManySessions() {
        var bench = Bench()
        func opened(_ count: Int, from network: String) -> Int {
            (0..<count).count { _ in
                guard let sid = bench.openByPolling(from: network) else { return false }
                _ = bench.request(.post, sid, "1", from: network)
                return true
            }
        }
        #expect(opened(100, from: "near") == 50)
        #expect(bench.request(.get, from: "near") == [refusal(.tooManySessions, of: bench.last)])
        let (socket, outputs) = bench.open(from: "near")
        #expect(outputs == [.transport(.close(socket: socket))])
        #expect(opened(10, from: "far") == 10)
        _ = bench.wait(.milliseconds(100))
        #expect(opened(100, from: "near") == 5)
    }

    @Test func connectingAgainIsABegin() {
        var limits = EngineLimits(sessions: 100)
        limits.begins = EngineLimits.Rate(burst: 3, perSecond: 1)
        var bench = Bench(limits)
        let (socket, _) = bench.open()
        for _ in 0..<3 {
            #expect(!isClosed(bench.send("40", on: socket) + bench.send("41", on: socket), socket))
        }
        #expect(isClosed(bench.send("40", on: socket), socket))
    }

    @Test func whoIsRefusedHasNoPlace() {
        var bench = Bench()
        let (socket, _) = bench.open()
        let answer = EngineMessage.text(Array(#"44{"message":"it is bad"}"#.utf8))
        #expect(bench.send(#"40{"bad":1}"#, on: socket) == [.transport(.send(answer, socket: socket))])
        #expect(isClosed(bench.wait(.seconds(10)), socket))
    }

    // MARK: - Places

    @Test func aSessionWithoutANamespaceEndsAfterTenSeconds() throws {
        var bench = Bench()
        let sid = try bench.sid()
        _ = bench.request(.get, sid)
        let held = bench.last
        #expect(bench.wait(.milliseconds(9999)) == [])
        #expect(bench.wait(.milliseconds(1)) == [body("1", of: held)])
        #expect(bench.server.engine.sessionCount == 0)
    }

    /// Whoever has more than half of the places gives one up.
    @Test func oneNetworkDoesNotKeepAllPlaces() {
        var bench = Bench(EngineLimits(sessions: 10))
        let sockets = (0..<10).map { _ in bench.open(from: "near").socket }
        let refused = EngineServer.Query(revision: "4", transport: "websocket", sid: nil, network: "near")
        #expect(bench.server.engine.refusal(ofSocket: refused) == .tooManySessions)
        for round in 1...5 {
            let (_, outputs) = bench.open(from: "far \(round)")
            #expect(outputs.first == .transport(.close(socket: sockets[10 - round])), "the newest one goes")
            #expect(bench.server.engine.sessionCount == 10)
        }
        let another = EngineServer.Query(revision: "4", transport: "websocket", sid: nil, network: "far 6")
        #expect(bench.server.engine.refusal(ofSocket: another) == .tooManySessions)
    }

    @Test func theOldestOfTooManyGetsIsAnswered() throws {
        var limits = EngineLimits(sessions: 100)
        limits.heldGets = 2
        var bench = Bench(limits, timeout: .seconds(1000))
        let sids = try (0..<4).map { _ in try bench.sid() }
        #expect(bench.request(.get, sids[0]) == [])
        let first = bench.last
        #expect(bench.request(.get, sids[1]) == [])
        var held = [first, bench.last]
        #expect(bench.request(.get, sids[2], from: "far") == [])
        // Each asks again at once, and is answered a second after that at the soonest.
        for _ in 0..<10 {
            #expect(bench.request(.get, sids[3]) == [])
            held.append(bench.last)
            #expect(bench.server.engine.nextDeadline == bench.now + .seconds(1))
            #expect(bench.wait(.milliseconds(999)) == [])
            #expect(bench.wait(.milliseconds(1)) == [body("6", of: held.removeFirst())])
            for sid in sids[0...1] {
                #expect(bench.request(.get, sid) == [body("6", of: held.removeFirst())])
                held.append(bench.last)
            }
        }
        #expect(bench.server.engine.sessionCount == 4)
    }

    // MARK: - Memory

    /// Invariant: admitted.
    @Test func whatWaitsUnreadIsBoundedForAllTogether() throws {
        var limits = EngineLimits(sessions: 100)
        limits.keptBytes = 10_000
        var bench = Bench(limits)
        var clients: [String] = []
        for network in ["near", "near", "far"] {
            let sid = try bench.sid(from: network)
            for case .connected(let client, _, _) in bench.request(.post, sid, "40") { clients.append(client) }
            _ = bench.request(.get, sid)
        }
        func send(_ size: Int, to client: Int) -> [SocketServer.Output] {
            bench.server.send(.event(String(repeating: "x", count: size), []), to: clients[client])
            return bench.server.takeOutputs()
        }
        #expect(send(2500, to: 0) == [] && send(2800, to: 1) == [] && send(4000, to: 2) == [])
        // The network with the most loses the session with the most, though another session has more.
        #expect(send(1000, to: 2) == [.disconnected(client: clients[1], .slow)])
        #expect(send(1000, to: 2) == [])
        #expect(send(1000, to: 2) == [.disconnected(client: clients[2], .slow)])
        #expect(bench.server.engine.sessionCount == 1)
    }

    @Test func packetsThatLackAPartAreKeptWithinTheSame() {
        var limits = EngineLimits(sessions: 100)
        limits.keptBytes = 10_000
        var bench = Bench(limits)
        let sockets = (0..<3).map { _ in bench.open().socket }
        for socket in sockets { _ = bench.send("40", on: socket) }
        let head = #"452-["\#(String(repeating: "x", count: 3000))",{"_placeholder":true,"num":0}]"#
        for socket in sockets { #expect(bench.send(head, on: socket) == []) }
        bench.server.engine.receive(.binary([UInt8](repeating: 1, count: 1000)), on: sockets[1], now: bench.now)
        #expect(isClosed(bench.server.takeOutputs(), sockets[1]))
        // A whole packet is not kept.
        for _ in 0..<2 {
            bench.server.engine.receive(.binary([UInt8](repeating: 1, count: 500)), on: sockets[0], now: bench.now)
        }
        #expect(bench.server.takeOutputs().count == 1)
        #expect(bench.send(head, on: sockets[0]) == [])
        #expect(bench.server.engine.sessionCount == 2)
    }

    @Test func muchIsAnsweredInParts() throws {
        var bench = Bench()
        let sid = try bench.sid()
        var client = ""
        for case .connected(let id, _, _) in bench.request(.post, sid, "40") { client = id }
        _ = bench.request(.get, sid)
        let names = ["a", "b", "c", "d"].map { String(repeating: $0, count: 30_000) }
        for name in names { bench.server.send(.event(name, []), to: client) }
        let texts = names.map { #"42["\#($0)"]"# }
        for part in [texts[..<2], texts[2...]] {
            #expect(bench.request(.get, sid) == [body(part.joined(separator: "\u{1E}"), of: bench.last)])
        }
        #expect(bench.request(.get, sid) == [], "nothing is left")
        // One that is larger alone comes whole.
        let large = String(repeating: "e", count: 90_000)
        let held = bench.last
        bench.server.send(.event(large, []), to: client)
        #expect(bench.server.takeOutputs() == [body(#"42["\#(large)"]"#, of: held)])
    }
}
