import Synchronization
import TestSupport
import Testing
import Time

@testable import SocketIO

/// Frames and bodies that are nearly right, of which a server takes what it can and closes the rest.
@Suite struct DamagedInputTests {
    private static let seeds = [
        "40", #"40{"token":"t"}"#, "40/custom,", #"42["join","r"]"#, #"4212["message","r",{"sdp":"v=0"}]"#,
        #"451-["m",{"_placeholder":true,"num":0}]"#, #"4311["a"]"#, "41", "3", "1", "2probe", "5",
        "4a\u{1E}4b\u{1E}bAQ==",
    ]

    private func damaged(_ random: inout SplitMix) -> [UInt8] {
        var bytes = Array(Self.seeds.randomElement(using: &random)!.utf8)
        for _ in 0..<Int.random(in: 0...3, using: &random) where !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: bytes[place] = .random(in: 0...255, using: &random)
            case 1: bytes.remove(at: place)
            case 2: bytes.insert(contentsOf: bytes.prefix(20), at: place)
            default: bytes.removeLast(bytes.count - place)
            }
        }
        return bytes
    }

    @Test(arguments: 1...4) func theServerGoesOn(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let count = Mutex(0)
        var server = SocketServer(namespaces: ["/", "/custom"], limits: EngineLimits(sessions: 50)) {
            count.withLock { count in
                count += 1
                return "s\(count)"
            }
        }
        var now = Instant.seconds(1)
        var (open, closed) = (0, 0)
        var sockets: [UInt64] = []
        for step in 0..<40_000 as Range<UInt64> {
            now = now + .milliseconds(Int.random(in: 0...40, using: &random))
            let sid =
                Bool.random(using: &random)
                ? "s\(Int.random(in: 1...max(count.withLock { $0 }, 1), using: &random))" : nil
            let socket = sockets.suffix(30).randomElement(using: &random) ?? 0
            switch Int.random(in: 0..<12, using: &random) {
            case 0:
                let method: EngineServer.Method = Bool.random(using: &random) ? .get : .post
                let query = EngineServer.Query(revision: "4", transport: "polling", sid: sid)
                server.engine.receive(method, query, body: damaged(&random), request: step, now: now)
            case 1:
                let query = EngineServer.Query(revision: "4", transport: "websocket", sid: sid)
                guard server.engine.refusal(ofSocket: query) == nil else { break }
                sockets.append(step)
                server.engine.open(socket: step, query, now: now)
            case 2: server.engine.receive(.binary(damaged(&random)), on: socket, now: now)
            case 3: server.engine.tick(now: now)
            case 4 where Bool.random(using: &random): server.engine.lost(socket: socket, now: now)
            default: server.engine.receive(.text(damaged(&random)), on: socket, now: now)
            }
            for output in server.takeOutputs() {
                switch output {
                case .connected: open += 1
                case .disconnected: closed += 1
                case .transport, .received: break
                }
            }
        }
        #expect(open > 50)
        server.engine.tick(now: now + .seconds(25))
        server.engine.tick(now: now + .seconds(100))
        for case .disconnected in server.takeOutputs() { closed += 1 }
        #expect(open == closed, "whoever came is gone once")
        #expect(server.engine.nextDeadline == nil)
    }
}
