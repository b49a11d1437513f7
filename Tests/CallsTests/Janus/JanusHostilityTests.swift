import JSON
import Media
import TestSupport
import Testing
import Time

@testable import Calls

/// Whatever comes in whatever order: a session ends once, tells nothing after that, and until then waits for something.
@Suite struct JanusHostilityTests {
    private static let messages = [
        "{\"janus\":\"success\",\"transaction\":\"T\",\"data\":{\"id\":1}}",
        "{\"janus\":\"success\",\"transaction\":\"T\"}", "{\"janus\":\"ack\",\"transaction\":\"T\"}",
        "{\"janus\":\"error\",\"transaction\":\"T\",\"error\":{\"code\":458,\"reason\":\"No such session\"}}",
        "{\"janus\":\"error\",\"transaction\":\"T\",\"error\":{\"code\":403,\"reason\":\"Unauthorized\"}}",
        "{\"janus\":\"event\",\"transaction\":\"T\",\"session_id\":1,\"sender\":1,\"plugindata\":{\"data\":{\"videoroom\":\"joined\"}},\"jsep\":{\"type\":\"answer\",\"sdp\":\"v=0\\r\\n\"}}",
        "{\"janus\":\"event\",\"transaction\":\"T\",\"session_id\":1,\"sender\":1,\"plugindata\":{\"data\":{\"videoroom\":\"joined\"}},\"jsep\":{\"type\":\"offer\",\"sdp\":\"v=0\\r\\n\"}}",
        "{\"janus\":\"event\",\"transaction\":\"T\",\"session_id\":1,\"sender\":1,\"plugindata\":{\"data\":{\"error_code\":430,\"error\":\"room should be a string\"}}}",
        "{\"janus\":\"event\",\"transaction\":\"T\",\"session_id\":1,\"sender\":1,\"plugindata\":{\"data\":{\"error_code\":432,\"error\":\"full\"}}}",
        "{\"janus\":\"event\",\"transaction\":\"T\",\"session_id\":1,\"sender\":1,\"plugindata\":{\"data\":{\"configured\":\"ok\"}},\"jsep\":{\"type\":\"answer\",\"sdp\":\"v=0\\r\\n\"}}",
        "{\"janus\":\"event\",\"transaction\":\"T\",\"session_id\":1,\"sender\":1,\"plugindata\":{\"data\":{\"configured\":\"ok\"}}}",
        "{\"janus\":\"hangup\",\"session_id\":1,\"sender\":1,\"reason\":\"x\"}",
        "{\"janus\":\"detached\",\"session_id\":1,\"sender\":1}", "{\"janus\":\"timeout\",\"session_id\":1}",
        "{\"janus\":\"event\",\"session_id\":1,\"sender\":1,\"plugindata\":{\"data\":{\"leaving\":\"ok\",\"reason\":\"kicked\"}}}",
        "{\"janus\":\"trickle\",\"session_id\":1,\"sender\":1,\"candidate\":{\"candidate\":\"candidate:1\"}}",
        "{\"janus\":\"webrtcup\",\"session_id\":1,\"sender\":1}", "[]", "{}", "", "{\"janus\":1}",
    ]

    private struct Watched {
        var session = JanusSession(server: "ws://s:1", room: "1", JanusSecrets(), codecs: [.vp8])
        var now = Instant.seconds(1)
        var ends = 0
        var transaction = ""
        var offers = 0

        mutating func perform(_ body: (inout JanusSession, Instant) -> Void) {
            body(&session, now)
            let outputs = session.takeOutputs()
            #expect(outputs.isEmpty || ends == 0, "\(outputs) after the end")
            for output in outputs {
                switch output {
                case .ended: ends += 1
                case .send(let text):
                    let json = JSONText(text.utf8)
                    #expect(json?.isObject == true)
                    transaction = json?["transaction"]?.string ?? ""
                case .offer: offers += 1
                default: break
                }
            }
            if case .ended? = outputs.last { #expect(session.nextDeadline == nil) }
        }
    }

    private func random(_ watched: inout Watched, _ random: inout SplitMix, damages: Bool) {
        switch Int.random(in: 0..<24, using: &random) {
        case 0: watched.perform { $0.opened(now: $1) }
        case 1: watched.perform { $0.lost("lost", now: $1) }
        case 2: watched.perform { $0.described(JanusBench.offer, now: $1) }
        case 3: watched.perform { session, _ in session.connected() }
        case 4: watched.perform { $0.peerEnded("has gone", isFinal: false, now: $1) }
        case 5:
            watched.now = watched.session.nextDeadline ?? watched.now
            watched.perform { $0.tick(now: $1) }
        case 7: watched.perform { session, _ in session.migrating() }
        case 8: watched.perform { session, _ in session.networkChanged() }
        case 9: watched.perform { $0.proposed(JanusRestartTests.fragment, now: $1) }
        case 10: watched.perform { $0.proposed(nil, now: $1) }
        case 6: if Int.random(in: 0..<40, using: &random) == 0 { watched.perform { $0.leave(now: $1) } }
        default:
            let message = Self.messages.randomElement(using: &random)!
            var bytes = Array(message.replacing("\"T\"", with: "\"\(watched.transaction)\"").utf8)
            if damages, !bytes.isEmpty {
                for _ in 0..<Int.random(in: 1...4, using: &random) {
                    let place = Int.random(in: 0..<bytes.count, using: &random)
                    switch Int.random(in: 0..<3, using: &random) {
                    case 0: bytes[place] = .random(in: 0...255, using: &random)
                    case 1: bytes.insert("{}[]\",:9-".utf8.randomElement(using: &random)!, at: place)
                    default: if bytes.count > 1 { bytes.remove(at: place) }
                    }
                }
            }
            watched.perform { $0.received(bytes, now: $1) }
        }
    }

    @Test(arguments: [false, true]) func anyOrderEndsOnceAtTheMost(damages: Bool) {
        var hasPublished = false
        for seed in 0..<300 {
            var source = SplitMix(seed: UInt64(seed))
            var watched = Watched()
            watched.perform { session, _ in session.start() }
            for _ in 0..<60 { random(&watched, &source, damages: damages) }
            if watched.offers > 1 { hasPublished = true }
            watched.perform { $0.leave(now: $1) }
            while watched.session.nextDeadline != nil {
                watched.now = watched.session.nextDeadline!
                watched.perform { $0.tick(now: $1) }
            }
            #expect(watched.ends == 1, "seed \(seed)")
        }
        #expect(hasPublished)
    }

    @Test func deepAndLongMessagesAreRefused() {
        #expect(JanusMessage(Array("{\"janus\":\"event\",\"x\":\(String(repeating: "[", count: 100_000))".utf8)) == nil)
        let long = "{\"janus\":\"hangup\",\"reason\":\"\(String(repeating: "x", count: 900_000))\"}"
        guard case .hangUp(let reason)? = JanusMessage(Array(long.utf8))?.content else {
            Issue.record("it is no hangup")
            return
        }
        #expect(String(quoting: reason).utf8.count == 200)
        #expect(
            JanusMessage(Array("{\"janus\":\"success\",\"data\":{\"id\":1e400}}".utf8))?.content == .success(id: nil)
        )
        #expect(
            JanusMessage(Array("{\"janus\":\"success\",\"data\":{\"id\":99999999999999999999}}".utf8))?.content
                == .success(id: nil)
        )
    }
}
