import Control
import HTTP
import Posix
import Sender
import Synchronization
import TestSupport
import Testing
import Time

@testable import Calls
@testable import Publishing

/// The calls of a sender whose machine was suspended.
@Suite struct SuspendedCallTests {
    /// A server of rooms, and who came and went there.
    private final class Rooms: Sendable {
        let log: Mutex<[String]>
        let port: UInt16
        private let http: HTTPServer
        private let rooms: RoomService
        private let listener: HTTPServer.Listener

        init() throws {
            http = HTTPServer()
            log = Mutex([])
            let note = Mutex<@Sendable (String) -> Void>({ _ in })
            rooms = RoomService(RoomService.Configuration(), of: http) { event in note.withLock(\.self)(event) }
            listener = try http.listen(
                on: ListenAddress(host: "127.0.0.1", port: 0),
                takeSocket: rooms.takeSocket,
                respond: rooms.respond
            )
            port = listener.port
            note.withLock { $0 = { [weak self] event in self?.log.withLock { $0.append(event) } } }
        }

        var comings: Int { log.withLock { $0.count { $0.contains("came") } } }

        deinit {
            listener.close()
            http.close()
        }
    }

    /// The server need not have noticed anything: the connection is made anew, and the seat kept.
    /// Invariant: oneClock.
    @Test func aRoomIsJoinedAgainAtOnce() throws {
        let rooms = try Rooms()
        let sleep = try MachineSleep()
        let scene = try CallScene(suspends: sleep.watch)
        defer { scene.calls.close() }
        try scene.calls.begin("room+http://127.0.0.1:\(rooms.port)/tea")
        func state() -> String { scene.calls.statuses(at: MonotonicClock.now()).map(\.state.rawValue).joined() }
        try wait(until: "it stands") { state() == "standing" && rooms.comings == 1 }
        // Somebody has set the clock, and the machine slept for a moment.
        sleep.happen(for: .zero)
        sleep.happen(for: .seconds(2))
        sleep.happen(for: .seconds(100))
        try wait(until: "it has come again: \(rooms.log.withLock(\.self))") {
            rooms.comings == 2 && state() == "standing"
        }
    }
}
