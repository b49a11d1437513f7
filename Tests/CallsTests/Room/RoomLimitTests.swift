import SocketIO
import Synchronization
import TestSupport
import Testing
import Time

@testable import Calls

/// What clients of a server of rooms may do to it and to each other, by the frames of their WebSockets.
@Suite struct RoomLimitTests {
    private struct Bench {
        var sockets: SocketServer
        var rooms = Rooms(server: RoomServer(), otherJoinedName: .otherjoin) { _ in }
        var now = Instant.seconds(1)

        init() {
            let count = Mutex(0)
            sockets = SocketServer(limits: EngineLimits(sessions: 100), refusal: RoomServer.refusal) {
                count.withLock { count in
                    count += 1
                    return "id\(count)"
                }
            }
        }

        /// Returns what was sent to each WebSocket, as text, and which of them were closed.
        private mutating func take() -> (sent: [(socket: UInt64, text: String)], closed: [UInt64]) {
            var (sent, closed) = ([(socket: UInt64, text: String)](), [UInt64]())
            while true {
                let outputs = sockets.takeOutputs()
                if outputs.isEmpty { return (sent, closed) }
                for output in outputs {
                    switch output {
                    case .transport(.send(.text(let bytes), let socket)):
                        sent.append((socket, String(decoding: bytes, as: UTF8.self)))
                    case .transport(.close(let socket)): closed.append(socket)
                    default: rooms.react(to: output, of: &sockets)
                    }
                }
            }
        }

        mutating func open(_ socket: UInt64) {
            sockets.engine.open(socket: socket, .init(revision: "4", transport: "websocket", sid: nil), now: now)
            _ = take()
        }

        mutating func send(
            _ texts: String...,
            on socket: UInt64
        ) -> (sent: [(socket: UInt64, text: String)], closed: [UInt64]) {
            var all = take()
            for text in texts {
                sockets.engine.receive(.text(Array(text.utf8)), on: socket, now: now)
                let next = take()
                all = (all.sent + next.sent, all.closed + next.closed)
            }
            return all
        }

        mutating func wait(_ duration: Duration) -> [UInt64] {
            now = now + duration
            sockets.engine.tick(now: now)
            return take().closed
        }
    }

    /// A seat that is taken anew is no new budget.
    /// Invariant: admitted.
    @Test(arguments: [["41", "40", #"42["join","r"]"#], [#"42["leave","r"]"#, #"42["join","r"]"#], []])
    func whoComesBackHasNoMoreMessages(renewal: [String]) {
        var bench = Bench()
        for socket in [1, 2] as [UInt64] {
            bench.open(socket)
            _ = bench.send("40", #"42["join","r"]"#, on: socket)
        }
        var (relayed, isClosed, isTold) = (0, false, false)
        for count in 1...18_000 where !isClosed {
            for text in (count.isMultiple(of: 50) ? renewal : []) + [#"42["message","r",1]"#] where !isClosed {
                let (sent, closed) = bench.send(text, on: 1)
                relayed += sent.count { $0.socket == 2 && $0.text.hasPrefix(#"42["message""#) }
                isClosed = closed.contains(1)
                isTold = sent.contains { $0.socket == 2 && $0.text.hasPrefix(#"42["bye""#) }
            }
        }
        #expect(400...500 ~= relayed)
        #expect(isClosed && isTold, "its seat is free")
    }

    @Test func aLongTokenIsRefusedByASentence() {
        var bench = Bench()
        bench.open(1)
        func connect(_ length: Int) -> [String] {
            let token = String(repeating: "t", count: length)
            return bench.send(#"40{"token":"\#(token)"}"#, on: 1).sent.map(\.text)
        }
        #expect(connect(1025) == [#"44{"message":"the token is longer than 1024 bytes: give a shorter one"}"#])
        #expect(bench.send(#"42["join","r"]"#, on: 1).closed == [1], "it is no client")
        bench.open(1)
        #expect(connect(1024).first?.hasPrefix("40") ?? false)
    }

    @Test func whoTakesNoSeatAndLeavesIsNotKept() {
        var bench = Bench()
        bench.open(1)
        #expect(bench.send("40", "41", on: 1).closed == [])
        #expect(bench.wait(.milliseconds(9999)) == [])
        #expect(bench.wait(.milliseconds(1)) == [1])
        #expect(bench.sockets.engine.sessionCount == 0)
    }
}
