import Testing

@testable import Calls

@Suite struct RoomAddressTests {
    @Test(arguments: [
        ("room+https://h/tea", "https://h:443", "tea"), ("ROOM+HTTP://H:8080/Tea", "http://h:8080", "Tea"),
        ("room+http://[::1]:1/a%20b", "http://[::1]:1", "a b"),
        ("room+https://h:65535/a/b?c", "https://h:65535", "a/b?c"),
        ("room+https://h/%C3%A9", "https://h:443", "é"),
    ])
    func rooms(text: String, server: String, room: String) throws {
        let address = try RoomAddress(parsing: text)
        #expect("\(address.server)" == server && address.room == room)
        #expect(try RoomAddress(parsing: "\(address)") == address)
    }

    @Test func theLongestNameIsTaken() throws {
        let longest = String(repeating: "é", count: RoomEvent.longestRoom / 2)
        #expect(try RoomAddress(parsing: "room+http://h/\(longest)").room == longest)
        let text = "room+http://h/\(longest)a"
        let sentence = "the name of the room in \(text) is too long: choose one of 128 bytes at the most"
        #expect(throws: CallEnd(.failed, sentence)) { try RoomAddress(parsing: text) }
    }

    @Test func whatIsNoRoomIsTold() {
        let notARoom = "is not a room: write room+https://HOST/ROOM"
        let noServer = "names no server: write room+https://HOST/ROOM or room+https://HOST:PORT/ROOM"
        let noName = "names no room: write its name after the server, as in room+https://HOST/ROOM"
        for (text, why) in [
            ("", notARoom), ("http://h/x", notARoom), ("room+ftp://h/x", notARoom), ("room+http:/h/x", notARoom),
            ("room+http:///x", noServer), ("room+http://h:65536/x", noServer), ("room+http://u@h/x", noServer),
            ("room+http://h", noName), ("room+http://h/", noName), ("room+http://h/%", noName),
            ("room+http://h/%FF", noName),
        ] {
            #expect(throws: CallEnd(.failed, "\(text) \(why)")) { try RoomAddress(parsing: text) }
        }
    }
}
