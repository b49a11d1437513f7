import Synchronization
import TestSupport
import Testing

@testable import HTTP

/// What one end of a WebSocket may ask of the other.
@Suite struct WebSocketLimitTests {
    @Test func fragmentsTogetherAreLimited() throws {
        let web = try WebSocketFixture(bodySize: 1000)
        let client = try web.open()
        client.send(maskedFrame(2, [UInt8](repeating: 0, count: 600), isLast: false))
        client.send(maskedFrame(0, [UInt8](repeating: 0, count: 600)))
        #expect(try client.read(4) == [0x88, 0x02, 0x03, 0xF1])
    }

    /// Whoever takes nothing of what is sent loses the connection, and costs no memory.
    @Test func whoDoesNotReadIsCutOff() throws {
        let web = try WebSocketFixture()
        let client = try web.open()
        let socket = web.notes.value.withLock { $0.sockets[0] }
        try wait(until: "it is cut off", restsBetween: false) {
            socket.send(.binary([UInt8](repeating: 0, count: 60_000)))
            return web.closed == 1
        }
        withExtendedLifetime(client) {}
    }

    /// What one may leave unread, all together may not: those who read stay.
    @Test func allTogetherLeaveLittleUnread() throws {
        let web = try WebSocketFixture(unread: 200_000)
        let idle = try web.open(from: "127.0.0.2")
        let other = try web.open(from: "127.0.0.3")
        let socket = web.notes.value.withLock { $0.sockets[0] }
        var sent = 0
        while web.closed == 0 {
            socket.send(.binary([UInt8](repeating: 0, count: 60_000)))
            sent += 60_000
            // It is served after that.
            other.send(maskedFrame(2, [1]))
            try #require(try other.read(3) == [0x82, 0x01, 1])
        }
        // What the kernels hold, and less than one alone may leave.
        #expect(sent < 1_900_000)
        #expect(web.closed == 1)
        withExtendedLifetime(idle) {}
    }

    /// What has come of messages and frames that are not whole counts too, by the size of its buffers, and no more once they are.
    @Test(arguments: [true, false]) func partsOfMessagesAreLimitedForAllTogether(areWholeFrames: Bool) throws {
        let web = try WebSocketFixture(unread: 280_000)
        let other = try web.open(from: "127.0.0.3")
        let whole = maskedFrame(2, [UInt8](repeating: 0, count: 60_000), isLast: !areWholeFrames)
        let part = areWholeFrames ? whole : whole.dropLast()
        var clients: [HTTPClient] = []
        for count in 1...4 {
            #expect(web.closed == 0)
            let client = try web.open(from: "127.0.0.2")
            client.send(Array(part))
            clients.append(client)
            if count == 3 {
                // It ends its message, which so counts no more.
                client.send(areWholeFrames ? maskedFrame(0, []) : Array(whole.suffix(1)))
                try wait(until: "the message is there") { web.notes.value.withLock { $0.received.count } == 1 }
                _ = try client.read(60_004)
            }
        }
        #expect(web.closed == 0)
        for _ in 0..<2 {
            let client = try web.open(from: "127.0.0.2")
            client.send(Array(part))
            clients.append(client)
        }
        try wait(until: "one is cut off") { web.closed > 0 }
        other.send(maskedFrame(8, [0x03, 0xE8]))
        #expect(try other.read(4) == [0x88, 0x02, 0x03, 0xE8])
        withExtendedLifetime(clients) {}
    }

    /// Of a large buffer that holds the begin of the next frame, all counts.
    @Test func aFrameLeavesItsBufferToTheNext() throws {
        let web = try WebSocketFixture(unread: 300_000)
        let frame = maskedFrame(2, [UInt8](repeating: 0, count: 60_000))
        var clients: [HTTPClient] = []
        for _ in 0..<4 {
            #expect(web.closed == 0)
            let client = try web.open(from: "127.0.0.2")
            client.send(frame + frame.prefix(100))
            clients.append(client)
            if clients.count < 4 { _ = try client.read(60_004) }
        }
        try wait(until: "one is cut off") { web.closed > 0 }
        withExtendedLifetime(clients) {}
    }

    @Test func whoSendsTooManyFramesIsSentAway() throws {
        let web = try WebSocketFixture()
        func flood(_ count: Int) throws -> [UInt8] {
            let client = try web.open()
            client.send(
                [UInt8]([[UInt8]](repeating: maskedFrame(9, []), count: count).joined()) + maskedFrame(8, [0x03, 0xE8])
            )
            return try client.rest().suffix(4)
        }
        #expect(try flood(WebSocketHandler.frameBurst - 1) == [0x88, 0x02, 0x03, 0xE8])
        #expect(try flood(8 * WebSocketHandler.frameBurst) == [0x88, 0x02, 0x03, 0xF0])
    }

    /// Before the time is over that it has to answer.
    @Test func whoSendsOnAfterTheGoodbyeIsCutOff() throws {
        let web = try WebSocketFixture()
        let client = try web.open()
        web.notes.value.withLock { $0.sockets.last }?.close()
        #expect(try client.read(4) == [0x88, 0x02, 0x03, 0xE8])
        let bytes = maskedFrame(2, [UInt8](repeating: 0, count: 60_000))
        var sent = 0
        while web.closed == 0, sent < 24 << 20 {
            client.send(bytes)
            sent += bytes.count
        }
        // The kernels hold up to ten megabytes of it.
        #expect(sent < 16 << 20)
        #expect(web.notes.value.withLock { $0.received.isEmpty })
    }
}
