import JSON
import Synchronization
import TestSupport
import Testing
import Time

@testable import SocketIO

/// What the conformance suite of Socket.IO asks for.
@Suite struct SocketServerTests {
    private struct Bench {
        var server: SocketServer
        var now = Instant.seconds(1)

        init() {
            let count = Mutex(0)
            server = SocketServer(
                namespaces: ["/", "/custom"],
                limits: EngineLimits(sessions: 10),
                connectTimeout: .seconds(1)
            ) {
                count.withLock { count in
                    count += 1
                    return "id\(count)"
                }
            }
            server.engine.open(socket: 5, .init(revision: "4", transport: "websocket", sid: nil), now: now)
            _ = server.takeOutputs()
        }

        mutating func send(_ text: String) -> [SocketServer.Output] {
            server.engine.receive(.text(Array("4\(text)".utf8)), on: 5, now: now)
            return server.takeOutputs()
        }

        mutating func send(_ bytes: [UInt8]) -> [SocketServer.Output] {
            server.engine.receive(.binary(bytes), on: 5, now: now)
            return server.takeOutputs()
        }
    }

    private func frame(_ text: String) -> SocketServer.Output {
        .transport(.send(.text(Array("4\(text)".utf8)), socket: 5))
    }

    private let closed = SocketServer.Output.transport(.close(socket: 5))

    @Test func clientsConnect() {
        var bench = Bench()
        #expect(bench.send("0") == [frame(#"0{"sid":"id2"}"#), .connected(client: "id2", namespace: "/", nil)])
        let payload = JSONText(#"{"a":1}"#.utf8)
        #expect(
            bench.send(#"0/custom,{"a":1}"#)
                == [frame(#"0/custom,{"sid":"id3"}"#), .connected(client: "id3", namespace: "/custom", payload)]
        )
        #expect(
            bench.send("0/random") == [frame(#"44/random,{"message":"Invalid namespace"}"#.replacing("44", with: "4"))]
        )
    }

    @Test(arguments: ["4abc", "abc", "2[\"a\"]", "2{}", "3[]", "0[]", ""]) func whatIsOutOfPlaceClosesTheSession(
        text: String
    ) {
        var bench = Bench()
        #expect(bench.send(text) == [closed])
        bench = Bench()
        _ = bench.send("0/custom")
        #expect(bench.send(text) == [closed, .disconnected(client: "id2", .protocolViolated)])
    }

    @Test func whoConnectsToNothingIsClosed() {
        var bench = Bench()
        bench.server.engine.tick(now: bench.now + .milliseconds(999))
        #expect(bench.server.takeOutputs() == [])
        bench.server.engine.tick(now: bench.now + .seconds(1))
        #expect(bench.server.takeOutputs() == [closed])
    }

    /// As often as it was in one before.
    @Test func whoIsInNoNamespaceAnyMoreIsClosed() {
        var bench = Bench()
        for _ in 0..<3 {
            _ = bench.send("0")
            bench.now = bench.now + .seconds(5)
            bench.server.engine.tick(now: bench.now)
            #expect(bench.server.takeOutputs() == [])
            _ = bench.send("1")
            bench.now = bench.now + .milliseconds(999)
            bench.server.engine.tick(now: bench.now)
            #expect(bench.server.takeOutputs() == [])
        }
        bench.now = bench.now + .milliseconds(1)
        bench.server.engine.tick(now: bench.now)
        #expect(bench.server.takeOutputs() == [closed])
    }

    @Test func whoTheServerSendsAwayIsClosed() {
        var bench = Bench()
        _ = bench.send("0")
        bench.server.disconnect("id2")
        _ = bench.server.takeOutputs()
        bench.server.engine.tick(now: bench.now + .seconds(1))
        #expect(bench.server.takeOutputs() == [closed])
    }

    @Test func clientsDisconnectFromANamespace() {
        var bench = Bench()
        _ = bench.send("0")
        _ = bench.send("0/custom")
        #expect(bench.send("1/custom") == [.disconnected(client: "id3", .closedByClient)])
        let event = SocketPacket.event("a", [])
        #expect(bench.send(#"2["a"]"#) == [.received(client: "id2", event)])
        #expect(bench.send("1") == [.disconnected(client: "id2", .closedByClient)])
    }

    @Test func eventsAndAcknowledgementsPass() {
        var bench = Bench()
        _ = bench.send("0")
        let text = #"2456["message-with-ack",1,"2",{"3":[false]}]"#
        guard case .received("id2", let packet)? = bench.send(text).first else {
            Issue.record("nothing came")
            return
        }
        bench.server.send(.acknowledgement(of: packet.id!, Array(packet.data!.elements!.dropFirst())), to: "id2")
        #expect(bench.server.takeOutputs() == [frame(#"3456[1,"2",{"3":[false]}]"#)])
    }

    @Test func attachmentsPass() {
        var bench = Bench()
        _ = bench.send("0")
        let text = #"2789["m",{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}]"#
        #expect(bench.send("52-" + text.dropFirst()) == [])
        #expect(bench.send([1, 2, 3]) == [])
        guard case .received("id2", let packet)? = bench.send([4]).first else {
            Issue.record("nothing came")
            return
        }
        bench.server.send(
            SocketPacket(
                .binaryAcknowledgement,
                id: packet.id!,
                data: JSONText(array: Array(packet.data!.elements!.dropFirst())),
                attachments: packet.attachments
            ),
            to: "id2"
        )
        #expect(
            bench.server.takeOutputs() == [
                frame(#"62-789[{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}]"#),
                .transport(.send(.binary([1, 2, 3]), socket: 5)), .transport(.send(.binary([4]), socket: 5)),
            ]
        )
        // Text while attachments are due, and bytes while none are.
        _ = bench.send("52-" + text.dropFirst())
        #expect(bench.send("2[\"a\"]").first == closed)
        bench = Bench()
        _ = bench.send("0")
        #expect(bench.send([1]).first == closed)
    }

    @Test func theServerSendsAClientAway() {
        var bench = Bench()
        _ = bench.send("0")
        bench.server.disconnect("id2")
        #expect(bench.server.takeOutputs() == [frame("1"), .disconnected(client: "id2", .closedByServer)])
        bench.server.send(.event("a", []), to: "id2")
        #expect(bench.server.takeOutputs() == [])
    }
}
