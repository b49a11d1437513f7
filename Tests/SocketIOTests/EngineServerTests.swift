import Synchronization
import TestSupport
import Testing
import Time

@testable import SocketIO

/// What the conformance suite of Engine.IO asks for, with its times, and what it does not.
@Suite struct EngineServerTests {
    private struct Bench {
        var server: EngineServer
        var now = Instant.seconds(1)
        private(set) var outputs: [EngineServer.Output] = []

        init(mostSessions: Int = 10) {
            var settings = EngineSession.Settings()
            settings.pingInterval = .milliseconds(300)
            settings.pingTimeout = .milliseconds(200)
            settings.mostWaiting = 1000
            let count = Mutex(0)
            server = EngineServer(settings: settings, limits: EngineLimits(sessions: mostSessions)) {
                count.withLock { count in
                    count += 1
                    return "s\(count)"
                }
            }
        }

        mutating func request(
            _ method: EngineServer.Method,
            _ id: UInt64,
            revision: String? = "4",
            transport: String? = "polling",
            sid: String? = nil,
            _ body: String = ""
        ) -> [EngineServer.Output] {
            let query = EngineServer.Query(revision: revision, transport: transport, sid: sid)
            server.receive(method, query, body: Array(body.utf8), request: id, now: now)
            return server.takeOutputs()
        }

        /// Opens a session by polling.
        mutating func open() { _ = request(.get, 1) }

        /// Opens a WebSocket, of a session that is there or a new one.
        mutating func open(socket: UInt64, sid: String? = nil) -> [EngineServer.Output] {
            server.open(socket: socket, .init(revision: "4", transport: "websocket", sid: sid), now: now)
            return server.takeOutputs()
        }

        mutating func frame(_ text: String, on socket: UInt64) -> [EngineServer.Output] {
            server.receive(.text(Array(text.utf8)), on: socket, now: now)
            return server.takeOutputs()
        }

        mutating func wait(_ duration: Duration) -> [EngineServer.Output] {
            let end = now + duration
            while let deadline = server.nextDeadline, deadline <= end {
                now = deadline
                server.tick(now: now)
            }
            now = end
            return server.takeOutputs()
        }
    }

    private func answer(_ id: UInt64, _ body: String) -> EngineServer.Output {
        .transport(.answer(request: id, body: Array(body.utf8)))
    }

    private func refusal(_ id: UInt64, _ refusal: EngineServer.Refusal) -> EngineServer.Output {
        .transport(.refuse(request: id, refusal))
    }

    private func send(_ text: String, on socket: UInt64) -> EngineServer.Output {
        .transport(.send(.text(Array(text.utf8)), socket: socket))
    }

    private func received(_ text: String) -> EngineServer.Output {
        .received(.text(Array(text.utf8)), sid: "s1")
    }

    private let handshake =
        #"0{"maxPayload":1000000,"pingInterval":300,"pingTimeout":200,"sid":"s1","upgrades":["websocket"]}"#

    // MARK: - Handshakes

    @Test func pollingOpensASession() {
        var bench = Bench()
        #expect(bench.request(.get, 1) == [.opened(sid: "s1"), answer(1, handshake)])
    }

    @Test func aWebSocketOpensASession() {
        var bench = Bench()
        let text = handshake.replacing(#"["websocket"]"#, with: "[]")
        #expect(bench.open(socket: 5) == [.opened(sid: "s1"), send(text, on: 5)])
    }

    @Test func badHandshakes() {
        var bench = Bench()
        #expect(bench.request(.get, 1, revision: nil) == [refusal(1, .unsupportedRevision)])
        #expect(bench.request(.get, 1, revision: "abc") == [refusal(1, .unsupportedRevision)])
        #expect(bench.request(.get, 1, revision: "3") == [refusal(1, .unsupportedRevision)])
        #expect(bench.request(.get, 1, transport: nil) == [refusal(1, .unknownTransport)])
        #expect(bench.request(.get, 1, transport: "abc") == [refusal(1, .unknownTransport)])
        #expect(bench.request(.get, 1, transport: "websocket") == [refusal(1, .badRequest)])
        #expect(bench.request(.post, 1) == [refusal(1, .wrongMethod)])
        #expect(bench.request(.other, 1) == [refusal(1, .wrongMethod)])
        #expect(bench.request(.get, 1, sid: "x") == [refusal(1, .unknownSession)])
        #expect(
            bench.server.refusal(ofSocket: .init(revision: "abc", transport: "websocket", sid: nil))
                == .unsupportedRevision
        )
        #expect(bench.server.refusal(ofSocket: .init(revision: "4", transport: "abc", sid: nil)) == .unknownTransport)
        #expect(bench.server.refusal(ofSocket: .init(revision: "4", transport: "polling", sid: nil)) == .badRequest)
        #expect(
            bench.server.refusal(ofSocket: .init(revision: "4", transport: "websocket", sid: "x")) == .unknownSession
        )
        #expect(bench.server.refusal(ofSocket: .init(revision: "4", transport: "websocket", sid: nil)) == nil)
        #expect(
            String(decoding: EngineServer.Refusal.unknownSession.body, as: UTF8.self)
                == #"{"code":1,"message":"Session ID unknown"}"#
        )
    }

    @Test func sessionsAreLimited() {
        var bench = Bench(mostSessions: 1)
        bench.open()
        #expect(bench.request(.get, 2) == [refusal(2, .tooManySessions)])
        #expect(
            bench.server.refusal(ofSocket: .init(revision: "4", transport: "websocket", sid: nil)) == .tooManySessions
        )
    }

    // MARK: - Messages

    @Test func postsBringMessages() {
        var bench = Bench()
        bench.open()
        #expect(
            bench.request(.post, 2, sid: "s1", "4a\u{1E}4b\u{1E}bAQ==")
                == [received("a"), received("b"), .received(.binary([1]), sid: "s1"), answer(2, "ok")]
        )
    }

    @Test func aPollWaitsForAMessage() {
        var bench = Bench()
        bench.open()
        #expect(bench.request(.get, 2, sid: "s1") == [])
        bench.server.send(.text(Array("a".utf8)), to: "s1")
        #expect(bench.server.takeOutputs() == [answer(2, "4a")])
        bench.server.send(.text(Array("b".utf8)), to: "s1")
        bench.server.send(.binary([1]), to: "s1")
        #expect(bench.request(.get, 3, sid: "s1") == [answer(3, "4b\u{1E}bAQ==")])
    }

    @Test(arguments: ["abc", "", "2", "0{}", "5", "6"]) func aPostThatIsNoneEndsTheSession(body: String) {
        var bench = Bench()
        bench.open()
        #expect(
            bench.request(.post, 2, sid: "s1", body) == [.ended(sid: "s1", .protocolViolated), refusal(2, .badRequest)]
        )
        #expect(bench.request(.get, 3, sid: "s1") == [refusal(3, .unknownSession)])
    }

    @Test func twoPollsEndTheSession() {
        var bench = Bench()
        bench.open()
        _ = bench.request(.get, 2, sid: "s1")
        #expect(
            bench.request(.get, 3, sid: "s1") == [
                refusal(3, .badRequest), answer(2, "1"), .ended(sid: "s1", .protocolViolated),
            ]
        )
        #expect(bench.request(.get, 4, sid: "s1") == [refusal(4, .unknownSession)])
    }

    @Test func anAbortedPollEndsTheSession() {
        var bench = Bench()
        bench.open()
        _ = bench.request(.get, 2, sid: "s1")
        bench.server.abort(request: 2, now: bench.now)
        #expect(bench.server.takeOutputs() == [.ended(sid: "s1", .connectionLost)])
    }

    @Test func framesBringMessages() {
        var bench = Bench()
        _ = bench.open(socket: 5)
        #expect(bench.frame("4a", on: 5) == [received("a")])
        bench.server.receive(.binary([1, 2]), on: 5, now: bench.now)
        #expect(bench.server.takeOutputs() == [.received(.binary([1, 2]), sid: "s1")])
        bench.server.send(.binary([3]), to: "s1")
        #expect(bench.server.takeOutputs() == [.transport(.send(.binary([3]), socket: 5))])
    }

    @Test(arguments: ["abc", "", "2", "5", "6", "0{}"]) func aFrameThatIsNoneEndsTheSession(text: String) {
        var bench = Bench()
        _ = bench.open(socket: 5)
        #expect(bench.frame(text, on: 5) == [.transport(.close(socket: 5)), .ended(sid: "s1", .protocolViolated)])
    }

    @Test func whoNeverPollsWhileMuchWaitsIsGone() {
        var bench = Bench()
        bench.open()
        for _ in 0..<2 { bench.server.send(.text([UInt8](repeating: 97, count: 600)), to: "s1") }
        #expect(bench.server.takeOutputs() == [.ended(sid: "s1", .slow)])
    }

    // MARK: - Heartbeat

    @Test func pingsGoOnWhileTheyAreAnswered() {
        var bench = Bench()
        bench.open()
        for round in 0..<3 as Range<UInt64> {
            #expect(bench.request(.get, 10 + round, sid: "s1") == [])
            #expect(bench.wait(.milliseconds(300)) == [answer(10 + round, "2")])
            #expect(bench.request(.post, 20 + round, sid: "s1", "3") == [answer(20 + round, "ok")])
        }
    }

    @Test func silenceEndsTheSession() {
        var bench = Bench()
        bench.open()
        #expect(bench.wait(.milliseconds(499)) == [])
        #expect(bench.wait(.milliseconds(1)) == [.ended(sid: "s1", .silent)])
        #expect(bench.request(.get, 2, sid: "s1") == [refusal(2, .unknownSession)])
        #expect(bench.server.nextDeadline == nil)
    }

    @Test func silenceEndsAWebSocket() {
        var bench = Bench()
        _ = bench.open(socket: 5)
        #expect(
            bench.wait(.milliseconds(500))
                == [send("2", on: 5), .transport(.close(socket: 5)), .ended(sid: "s1", .silent)]
        )
    }

    // MARK: - The end

    @Test func theClientCloses() {
        var bench = Bench()
        bench.open()
        _ = bench.request(.get, 2, sid: "s1")
        #expect(
            bench.request(.post, 3, sid: "s1", "1") == [
                answer(2, "6"), .ended(sid: "s1", .closedByClient), answer(3, "ok"),
            ]
        )
        #expect(bench.request(.get, 4, sid: "s1") == [refusal(4, .unknownSession)])
        _ = bench.open(socket: 5)
        #expect(bench.frame("1", on: 5) == [.transport(.close(socket: 5)), .ended(sid: "s2", .closedByClient)])
    }

    @Test func theServerCloses() {
        var bench = Bench()
        bench.open()
        _ = bench.request(.get, 2, sid: "s1")
        bench.server.close("s1")
        #expect(bench.server.takeOutputs() == [answer(2, "1"), .ended(sid: "s1", .closedByServer)])
    }

    // MARK: - Upgrade

    @Test func aWebSocketTakesOver() {
        var bench = Bench()
        bench.open()
        _ = bench.request(.get, 2, sid: "s1")
        #expect(bench.open(socket: 5, sid: "s1") == [])
        #expect(bench.frame("2probe", on: 5) == [send("3probe", on: 5), answer(2, "6")])
        bench.server.send(.text(Array("a".utf8)), to: "s1")
        #expect(bench.server.takeOutputs() == [])
        #expect(bench.frame("5", on: 5) == [send("4a", on: 5)])
        #expect(bench.request(.get, 3, sid: "s1") == [refusal(3, .badRequest)])
        #expect(bench.frame("4b", on: 5) == [received("b")])
        #expect(bench.open(socket: 6, sid: "s1") == [.transport(.close(socket: 6))])
        #expect(bench.frame("4c", on: 6) == [])
        #expect(bench.frame("4d", on: 5) == [received("d")])
        bench.server.lost(socket: 5, now: bench.now)
        #expect(bench.server.takeOutputs() == [.ended(sid: "s1", .connectionLost)])
    }

    @Test(arguments: ["4a", "2", "5", "abc"]) func aWebSocketThatIsNotProbedIsClosedAlone(text: String) {
        var bench = Bench()
        bench.open()
        _ = bench.open(socket: 5, sid: "s1")
        #expect(bench.frame(text, on: 5) == [.transport(.close(socket: 5))])
        #expect(bench.request(.post, 2, sid: "s1", "4b") == [received("b"), answer(2, "ok")])
        #expect(bench.open(socket: 6, sid: "s1") == [])
    }

    @Test func aWebSocketThatIsSilentIsClosedAlone() {
        var bench = Bench()
        bench.open()
        _ = bench.open(socket: 5, sid: "s1")
        var outputs: [EngineServer.Output] = []
        for round in 0..<40 as Range<UInt64> {
            _ = bench.request(.get, 100 + round, sid: "s1")
            outputs += bench.wait(.milliseconds(300)).filter { $0 == .transport(.close(socket: 5)) }
            _ = bench.request(.post, 200 + round, sid: "s1", "3")
        }
        #expect(outputs == [.transport(.close(socket: 5))])
        #expect(bench.request(.post, 2, sid: "s1", "4b") == [received("b"), answer(2, "ok")])
    }
}
