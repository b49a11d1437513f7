import Testing

@testable import Calls

@Suite struct JanusAddressTests {
    @Test(
        arguments: [
            ("janus+ws://h:8188/1234", "http://h:8188/", "1234", "janus+ws://h:8188/1234"),
            ("JANUS+WSS://H/1234", "https://h:443/", "1234", "janus+wss://h:443/1234"),
            (
                "janus+wss://h/janus/ws/tea%20room", "https://h:443/janus/ws", "tea room",
                "janus+wss://h:443/janus/ws/tea%20room"
            ),
            ("janus+ws://[::1]:8188/5", "http://[::1]:8188/", "5", "janus+ws://[::1]:8188/5"),
        ]
    )
    func aRoomIsTheLastPartOfThePath(text: String, endpoint: String, room: String, description: String) throws {
        let address = try JanusAddress(parsing: text)
        #expect("\(address.endpoint)" == endpoint && address.room == room && "\(address)" == description)
        #expect(try JanusAddress(parsing: description) == address)
    }

    @Test(arguments: ["janus+http://h/1", "janus+ws:h/1", "janus+ws://", "janus+ws://h:99999/1", "janus+ws://h/a?b/1"])
    func malformedOnesSayHowToWriteThem(text: String) {
        let sentence = "\(text) is no room of Janus: write janus+ws://HOST:8188/ROOM or janus+wss://HOST:8989/ROOM"
        #expect(throws: CallEnd(.failed, sentence)) { try JanusAddress(parsing: text) }
    }

    @Test(arguments: ["janus+ws://h", "janus+ws://h/", "janus+ws://h/path/", "janus+ws://h/%FF"])
    func onesWithoutARoomSayWhereItBelongs(text: String) {
        let sentence = "\(text) names no room: write its number after the server, as in janus+ws://HOST:8188/1234"
        #expect(throws: CallEnd(.failed, sentence)) { try JanusAddress(parsing: text) }
    }
}
