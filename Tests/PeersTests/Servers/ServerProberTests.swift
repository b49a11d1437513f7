import ICE
import Posix
import Synchronization
import TestSupport
import Testing

@testable import Peers

/// Probes of coturn, and of nobody.
@Suite struct ServerProberTests {
    /// What a prober told.
    private final class Log: Sendable {
        struct Told {
            var news: [String] = []
            var silent: [ICEServer] = []
            var probeCount = 0
        }

        let told = Mutex(Told())
        var now: Told { told.withLock(\.self) }

        func probe(_ servers: [WatchedServer]) throws -> ServerProber {
            try ServerProber(servers) { news, silent in
                self.told.withLock { told in
                    told.news += news.map { "\($0.server.name) \($0.result)" }
                    told.silent = silent
                    told.probeCount += 1
                }
            }
        }
    }

    private static func turn(
        _ address: String,
        _ relaying: ICEServer.Relaying = .udp,
        port: UInt16 = Relay.port,
        password: String = "p"
    ) -> ICEServer {
        .turn(address: address, port: port, relaying, .password(username: "u", password: password))
    }

    @Test func eachServerIsToldApart() throws {
        let address = Relay.loopbackAddress()
        let relay = try Relay(at: address, ["-v"])
        let log = Log()
        let (deadUDP, deadTCP) = (Self.turn(address, port: 9), Self.turn(address, .tcp, port: 9))
        let prober = try log.probe([
            WatchedServer("stun", .stun(address: address, port: Relay.port)),
            WatchedServer("turn", Self.turn(address)), WatchedServer("turn-tcp", Self.turn(address, .tcp)),
            WatchedServer("login", Self.turn(address, password: "wrong")),
            WatchedServer("login-tcp", Self.turn(address, .tcp, password: "wrong")),
            WatchedServer("dead", deadUDP), WatchedServer("dead-tcp", deadTCP),
            WatchedServer("led", deadTCP) { "no way" },
        ])
        defer { prober.close() }
        try wait(until: "all are probed: \(relay.output)") { log.now.probeCount == 8 }
        let told = log.now
        #expect(
            told.news.sorted() == [
                "dead noAnswer", "dead-tcp noAnswer", "led unreachable(why: \"no way\")", "login wrongLogin",
                "login-tcp wrongLogin",
            ]
        )
        #expect(told.silent == [deadUDP, deadTCP, deadTCP])
        #expect(prober.faults.map(\.server.name).sorted() == ["dead", "dead-tcp", "led", "login", "login-tcp"])
        try wait(until: "both allocations are given back: \(relay.output)") {
            relay.output.split(separator: "\n").count { $0.contains("refreshed") && $0.contains("lifetime=0") } == 2
        }
    }

    @Test func aServerThatComesBackIsToldOnce() throws {
        let address = Relay.loopbackAddress()
        let log = Log()
        let prober = try log.probe([WatchedServer("turn", Self.turn(address))])
        defer { prober.close() }
        try wait(until: "it is silent") { log.now.news == ["turn noAnswer"] }
        let relay = try Relay(at: address)
        prober.networkChanged()
        try wait(until: "it works: \(relay.output)") { log.now.news == ["turn noAnswer", "turn works"] }
        #expect(prober.faults.isEmpty && log.now.silent.isEmpty)
        prober.networkChanged()
        try wait(until: "it is probed again") { log.now.probeCount == 3 }
        #expect(log.now.news.count == 2)
    }
}
