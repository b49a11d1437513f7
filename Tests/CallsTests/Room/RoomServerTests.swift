import JSON
import SocketIO
import Testing

@testable import Calls

@Suite struct RoomServerTests {
    private struct Bench {
        var server: RoomServer

        init(_ limits: RoomServer.Limits = .init(), clients: [String] = ["a", "b", "c"]) {
            server = RoomServer(limits: limits)
            for client in clients { server.connected(client, nil) }
        }

        mutating func send(_ event: RoomEvent, from client: String) -> [RoomServer.Output] {
            send(event.packet(), from: client)
        }

        mutating func send(_ packet: SocketPacket, from client: String) -> [RoomServer.Output] {
            server.received(packet, from: client)
            return server.takeOutputs()
        }

        mutating func leave(_ client: String) -> [RoomServer.Output] {
            server.disconnected(client)
            return server.takeOutputs()
        }
    }

    @Test func twoMeetAndPart() {
        var bench = Bench()
        #expect(bench.send(.join(room: "r"), from: "a") == [.send(.joined(room: "r", id: "a"), client: "a")])
        #expect(
            bench.send(.join(room: "r"), from: "b") == [
                .send(.joined(room: "r", id: "b"), client: "b"), .send(.otherJoined(room: "r", id: "b"), client: "a"),
            ]
        )
        #expect(bench.send(.join(room: "r"), from: "c") == [.send(.full(room: "r", id: "c"), client: "c")])
        #expect(
            bench.send(.leave(room: "r"), from: "a") == [
                .send(.leaved(room: "r", id: "a"), client: "a"), .send(.bye(room: "r", id: "a"), client: "b"),
            ]
        )
        #expect(
            bench.send(.join(room: "r"), from: "c") == [
                .send(.joined(room: "r", id: "c"), client: "c"), .send(.otherJoined(room: "r", id: "c"), client: "b"),
            ]
        )
        #expect(bench.leave("c") == [.send(.bye(room: "r", id: "c"), client: "b")])
        #expect(bench.leave("b") == [])
        #expect(bench.server.rooms.count == 0)
    }

    /// Whoever joins waits for an answer.
    @Test func aRoomWithALongNameIsRefused() {
        var bench = Bench()
        let longest = String(repeating: "é", count: RoomEvent.longestRoom / 2)
        #expect(bench.send(.join(room: longest), from: "a") == [.send(.joined(room: longest, id: "a"), client: "a")])
        let longer = longest + "e"
        #expect(
            bench.send(.join(room: longer), from: "b") == [
                .ignored(client: "b", "it joins a room whose name is too long"),
                .send(.full(room: longer, id: "b"), client: "b"),
            ]
        )
        #expect(bench.server.rooms.count == 1)
    }

    /// Whatever members say to each other passes as it was written, with what is attached.
    @Test func messagesPassUntouched() {
        var bench = Bench()
        _ = bench.send(.join(room: "r"), from: "a")
        _ = bench.send(.join(room: "r"), from: "b")
        for arguments in [#""r",{"type":"x", "n":1.50}"#, #"{"room":"r","data":[ 1 ]},"more",null"#] {
            let packet = SocketPacket(
                .binaryEvent,
                id: 7,
                data: JSONText(#"["message",\#(arguments)]"#.utf8),
                attachments: [[1, 2]]
            )
            var relayed = packet
            relayed.id = nil
            #expect(bench.send(packet, from: "a") == [.relay(relayed, client: "b")])
        }
    }

    @Test func whatTheStateDoesNotAllowDoesNothing() {
        var bench = Bench()
        _ = bench.send(.join(room: "r"), from: "a")
        let message = RoomEvent.message(room: "r", JSONText(1))
        #expect(bench.send(message, from: "b") == [.ignored(client: "b", "a message for a room that it is not in")])
        #expect(
            bench.send(.leave(room: "r"), from: "b") == [.ignored(client: "b", "it leaves a room that it is not in")]
        )
        #expect(bench.send(message, from: "a") == [])
        for event in [RoomEvent.joined(room: "r", id: "x"), .bye(room: "r", id: "x"), .full(room: "r", id: "x")] {
            #expect(bench.send(event, from: "a") == [.ignored(client: "a", "an event that no client sends")])
        }
        for text in [
            #"["join"]"#, #"["join",""]"#, #"["join",1]"#, #"["join",{}]"#, "[1]", #"["else","r"]"#,
            #"["leave","\#(String(repeating: "r", count: 129))"]"#,
        ] {
            let packet = SocketPacket(.event, data: JSONText(text.utf8))
            #expect(bench.send(packet, from: "b") == [.ignored(client: "b", "an event that no client sends")])
        }
        #expect(bench.send(message, from: "nobody") == [])
    }

    @Test func aSecondJoinChangesNothing() {
        var bench = Bench()
        _ = bench.send(.join(room: "r"), from: "a")
        _ = bench.send(.join(room: "r"), from: "b")
        #expect(bench.send(.join(room: "r"), from: "b") == [.send(.joined(room: "r", id: "b"), client: "b")])
    }

    /// A seat that a lost connection still holds is free for whoever shows the same token.
    @Test func theSameTokenFreesASeat() {
        var bench = Bench(clients: [])
        for (client, token) in [("a", "t"), ("b", "u"), ("a2", "t"), ("c", "v")] {
            bench.server.connected(client, JSONText(#"{"token":"\#(token)"}"#.utf8))
        }
        _ = bench.send(.join(room: "r"), from: "a")
        _ = bench.send(.join(room: "r"), from: "b")
        #expect(bench.send(.join(room: "r"), from: "c") == [.send(.full(room: "r", id: "c"), client: "c")])
        #expect(
            bench.send(.join(room: "r"), from: "a2") == [
                .disconnect(client: "a"), .send(.bye(room: "r", id: "a"), client: "b"),
                .send(.joined(room: "r", id: "a2"), client: "a2"),
                .send(.otherJoined(room: "r", id: "a2"), client: "b"),
            ]
        )
    }

    @Test func clientsAreLimited() {
        var limits = RoomServer.Limits()
        (limits.rooms, limits.roomsOfOneClient, limits.capacity) = (3, 2, 3)
        var bench = Bench(limits)
        for room in ["1", "2"] { _ = bench.send(.join(room: room), from: "a") }
        #expect(bench.send(.join(room: "3"), from: "a") == [.send(.full(room: "3", id: "a"), client: "a")])
        #expect(bench.send(.join(room: "3"), from: "b") == [.send(.joined(room: "3", id: "b"), client: "b")])
        #expect(bench.send(.join(room: "4"), from: "c") == [.send(.full(room: "4", id: "c"), client: "c")])
        _ = bench.send(.join(room: "3"), from: "c")
        #expect(bench.send(.join(room: "1"), from: "c").count == 2)
        #expect(bench.server.rooms.count == 3)
    }

    /// Names differ among programs, and so do the shapes of arguments.
    @Test(arguments: [
        #"["otherjoin","r","x"]"#, #"["other_joined","r","x"]"#, #"["other_join",{"room":"r","id":"x"}]"#,
    ])
    func namesOfTheSame(text: String) {
        #expect(RoomEvent(SocketPacket(.event, data: JSONText(text.utf8))) == .otherJoined(room: "r", id: "x"))
    }

    @Test(arguments: RoomEvent.OtherJoinedName.allCases) func theServersNameCanBeChosen(name: RoomEvent.OtherJoinedName)
    {
        let packet = RoomEvent.otherJoined(room: "r", id: "x").packet(otherJoinedAs: name)
        #expect(packet.data?.text == #"["\#(name.rawValue)","r","x"]"#)
    }
}
