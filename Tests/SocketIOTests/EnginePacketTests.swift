import Testing

@testable import SocketIO

/// The examples of the protocol's document, and what is none.
@Suite struct EnginePacketTests {
    @Test func aPayloadOfTheDocument() {
        // "hello", 01 02 03 04 (engine.io-protocol, "HTTP long-polling").
        let packets: [EnginePacket] = [.message(.text(Array("hello".utf8))), .message(.binary([1, 2, 3, 4]))]
        let body = Array("4hello\u{1E}bAQIDBA==".utf8)
        #expect(EnginePayload.body(of: packets) == body)
        #expect(EnginePayload.packets(of: body) == packets)
        #expect(packets.map(EnginePayload.size).reduce(0, +) + 1 == body.count)
    }

    @Test func theHandshakeOfTheDocument() throws {
        let text =
            #"0{"sid":"lv_VI97HAXpY6yYWAAAC","upgrades":["websocket"],"pingInterval":25000,"pingTimeout":20000,"#
            + #""maxPayload":1000000}"#
        guard case .open(let handshake)? = EnginePacket(frame: .text(Array(text.utf8))) else {
            Issue.record("no handshake")
            return
        }
        #expect(handshake.sid == "lv_VI97HAXpY6yYWAAAC")
        #expect(handshake.upgrades == ["websocket"])
        #expect((handshake.pingInterval, handshake.pingTimeout, handshake.maxPayload) == (25000, 20000, 1_000_000))
        #expect(EnginePacket(frame: EnginePacket.open(handshake).frame) == .open(handshake))
    }

    /// A client that cannot use what a server says beyond its session and its times goes on without it.
    @Test(arguments: [
        #""upgrades":[null,"websocket",7],"maxPayload":1e30"#, #""upgrades":["websocket"],"maxPayload":"1 MB""#,
    ])
    func aHandshakeOfOddValues(values: String) {
        let frame = EngineMessage.text(Array("0{\"sid\":\"a\",\"pingInterval\":1,\"pingTimeout\":2,\(values)}".utf8))
        let handshake = EngineHandshake(
            sid: "a",
            upgrades: ["websocket"],
            pingInterval: 1,
            pingTimeout: 2,
            maxPayload: nil
        )
        #expect(EnginePacket(frame: frame) == .open(handshake))
    }

    @Test(arguments: [
        (EnginePacket.close, "1"), (.ping([]), "2"), (.ping(EnginePacket.probe), "2probe"),
        (.pong(EnginePacket.probe), "3probe"), (.upgrade, "5"), (.noop, "6"), (.message(.text([])), "4"),
    ])
    func framesOfText(packet: EnginePacket, text: String) {
        #expect(packet.frame == .text(Array(text.utf8)))
        #expect(EnginePacket(frame: .text(Array(text.utf8))) == packet)
    }

    @Test(arguments: ["", "7", "abc", "0", "0{}", #"0{"sid":"","upgrades":[],"pingInterval":1,"pingTimeout":1}"#])
    func noPackets(text: String) {
        #expect(EnginePacket(frame: .text(Array(text.utf8))) == nil)
        #expect(EnginePayload.packets(of: Array(text.utf8)) == nil)
    }

    @Test(arguments: ["4a\u{1E}", "\u{1E}4a", "bAQ", "b!!!!", "4a\u{1E}9"]) func noPayloads(text: String) {
        #expect(EnginePayload.packets(of: Array(text.utf8)) == nil)
    }

    @Test func textIsUTF8() {
        #expect(EnginePayload.packets(of: [UInt8(ascii: "4"), 0xFF]) == nil)
    }
}
