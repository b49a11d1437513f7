import JSON
import Testing

@testable import SocketIO

@Suite struct SocketPacketTests {
    private func read(_ text: String, _ attachments: [[UInt8]] = []) -> SocketPacketReader.Outcome {
        var reader = SocketPacketReader()
        var outcome = reader.read(.text(Array(text.utf8)), sizeLimit: 100)
        for attachment in attachments { outcome = reader.read(.binary(attachment), sizeLimit: 100) }
        return outcome
    }

    /// The examples of the protocol's document (socket.io-protocol, "Packet encoding").
    @Test(
        arguments: [
            ("0", SocketPacket(.connect), 0),
            (
                #"0/admin,{"sid":"oSO0OpakMV_3jnilAAAA"}"#,
                SocketPacket(.connect, in: "/admin", data: JSONText(#"{"sid":"oSO0OpakMV_3jnilAAAA"}"#.utf8)), 0
            ),
            (
                #"4{"message":"Not authorized"}"#,
                SocketPacket(.connectError, data: JSONText(#"{"message":"Not authorized"}"#.utf8)), 0
            ),
            (#"2["foo"]"#, SocketPacket.event("foo", []), 0),
            (#"2/admin,["bar"]"#, SocketPacket(.event, in: "/admin", data: JSONText(#"["bar"]"#.utf8)), 0),
            (#"212["foo"]"#, SocketPacket(.event, id: 12, data: JSONText(#"["foo"]"#.utf8)), 0),
            (#"313["bar"]"#, SocketPacket.acknowledgement(of: 13, [JSONText(string: "bar")]), 0),
            (
                #"3/admin,13["bar"]"#,
                SocketPacket(.acknowledgement, in: "/admin", id: 13, data: JSONText(#"["bar"]"#.utf8)), 0
            ),
            ("1/admin,", SocketPacket(.disconnect, in: "/admin"), 0),
            (
                #"51-["baz",{"_placeholder":true,"num":0}]"#,
                SocketPacket(
                    .binaryEvent,
                    data: JSONText(#"["baz",{"_placeholder":true,"num":0}]"#.utf8),
                    attachments: [[1, 2]]
                ), 1
            ),
            (
                #"61-15["bar",{"_placeholder":true,"num":0}]"#,
                SocketPacket(
                    .binaryAcknowledgement,
                    id: 15,
                    data: JSONText(#"["bar",{"_placeholder":true,"num":0}]"#.utf8),
                    attachments: [[1, 2]]
                ), 1
            ),
        ] as [(String, SocketPacket, Int)]
    )
    func examples(text: String, packet: SocketPacket, count: Int) {
        let attachments = [[UInt8]](repeating: [1, 2], count: count)
        #expect(read(text, attachments) == .packet(packet))
        #expect(packet.messages == [.text(Array(text.utf8))] + attachments.map(EngineMessage.binary))
    }

    /// A namespace may end the text, or have a query.
    @Test func namespaces() {
        #expect(read("0/custom") == .packet(SocketPacket(.connect, in: "/custom")))
        #expect(read("1/custom") == .packet(SocketPacket(.disconnect, in: "/custom")))
        #expect(read("0/custom?a=1,") == .packet(SocketPacket(.connect, in: "/custom")))
    }

    @Test(arguments: [
        "", "7", "abc", "0[]", "0 x", "2", "2{}", "2[]", "2[null]", "2[{}]", "2abc", #"2["connect"]"#,
        #"2["disconnect"]"#,
        #"2["connect_error"]"#, #"2["disconnecting"]"#, #"2["newListener"]"#, #"2["removeListener"]"#, "3[]", "31{}",
        "4", "5", #"5-["a"]"#, #"50-["a"]"#, #"511-["a"]"#, #"5x-["a"]"#, #"51["a"]"#, #"52-abc["a"]"#, "1{}",
        #"299999999999999999999["a"]"#,
    ])
    func noPackets(text: String) {
        #expect(read(text) == .invalid)
    }

    @Test func attachmentsComeAfterTheirText() {
        #expect(read(#"52-["a"]"#, [[1]]) == .incomplete)
        var reader = SocketPacketReader()
        #expect(reader.read(.binary([1]), sizeLimit: 100) == .invalid)
        #expect(reader.read(.text(Array(#"52-["a"]"#.utf8)), sizeLimit: 100) == .incomplete)
        #expect(reader.read(.text(Array(#"2["a"]"#.utf8)), sizeLimit: 100) == .invalid)
    }

    @Test func attachmentsAreLimited() {
        let large = [UInt8](repeating: 0, count: 60)
        #expect(read(#"51-["a"]"#, [large]) != .invalid)
        #expect(read(#"52-["a"]"#, [large, large]) == .invalid)
    }
}
