import JSON
import TestSupport
import Testing
import Time

@testable import Calls

/// What the errors of Janus 1.1.2 lead to.
@Suite struct JanusFaultTests {
    /// Of a reason that cannot be meant for people, no more is read than of the longest that is.
    @Test(arguments: [(4096, 4096), (4097, 4096), (1_000_000, 4096)]) func aLongReasonIsCut(length: Int, read: Int) {
        let reason = JSONText(string: String(repeating: "x", count: length))
        #expect(JanusFault(JSONText(499), reason).reason.utf8.count == read)
    }

    @Test(
        arguments: [
            (426, "No such room (1234)", .unavailable, "has no room 1234"),
            (429, "Missing mandatory element (pin)", .failed, "--janus-pin-file"),
            (433, "Unauthorized (wrong pin)", .failed, "refuses the PIN"),
            (432, "Maximum number of publishers (1) already reached", .tryAgain, "room 1234 is full"),
            (472, "Not accepting new sessions", .tryAgain, "takes nobody in"),
            (403, "Unauthorized request", .failed, "--janus-secret-file"),
            (405, "Provided token can't access plugin", .failed, "--janus-token-file"),
            (460, "No such plugin", .unavailable, "has no VideoRoom"),
            (465, "Error processing SDP", .failed, "does not take the request (465: Error processing SDP)"),
            (437, "Error \u{1B}[31m\nsecond line", .failed, "(437: Error [31m)"),
            (490, "Error setting ICE locally", .failed, "490"), (0, "", .failed, "does not take"),
            (421, "No message??", .failed, "421"), (422, "JSON error", .failed, "422"),
            (423, "Unknown request", .failed, "423"), (427, "Room exists", .failed, "427"),
            (428, "No such feed", .failed, "428"), (429, "Missing mandatory element (ptype)", .failed, "429"),
            (430, "Invalid element type (ptype should be a string)", .failed, "430"),
            (431, "Invalid SDP type", .failed, "431"), (454, "Invalid JSON", .failed, "454"),
            (456, "Missing mandatory element", .failed, "456"), (467, "Invalid element type", .failed, "467"),
            (499, "Unknown error", .failed, "499"),
        ] as [(Int, String, CallEnd.Kind, String)]
    )
    func eachErrorEndsItInASentence(code: Int, reason: String, kind: CallEnd.Kind, words: String) throws {
        for isCore in [true, false] {
            var bench = JanusBench()
            bench.join()
            let reason = JSONText(string: reason).text
            let outputs =
                isCore
                ? bench.answer("\"janus\":\"error\",\"error\":{\"code\":\(code),\"reason\":\(reason)}")
                : bench.event("\"videoroom\":\"event\",\"error_code\":\(code),\"error\":\(reason)")
            let end = try #require(ending(outputs))
            #expect(end.kind == kind && end.description.contains(words), "\(end)")
            #expect(end.description.utf8.allSatisfy { 0x20...0x7E ~= $0 })
            // Nothing is left there.
            #expect(verb(bench) == "destroy")
        }
    }

    @Test func withASecretARefusalSaysSo() throws {
        var bench = JanusBench(room: "1", JanusSecrets(apiSecret: "s"))
        _ = bench.perform { session, _ in session.start() }
        _ = bench.perform { $0.opened(now: $1) }
        let outputs = bench.answer("\"janus\":\"error\",\"error\":{\"code\":403,\"reason\":\"Unauthorized\"}")
        #expect(try #require(ending(outputs)).description.contains("refuses the secret"))
    }

    @Test func aSecretInARefusalIsLeftOut() throws {
        for secrets in [JanusSecrets(apiSecret: "k3y-k3y"), .init(token: "k3y-k3y"), .init(pin: "k3y-k3y")] {
            var bench = JanusBench(room: "1", secrets)
            bench.join()
            let outputs = bench.event("\"videoroom\":\"event\",\"error_code\":433,\"error\":\"wrong: k3y-k3y\"")
            #expect(try #require(ending(outputs)).description.hasSuffix("(433: wrong: ***)"))
        }
    }

    /// A token that the server knows no more, or a room that has another PIN: the files are read again with each connection.
    @Test(arguments: [403, 433]) func secretsThatWereTakenMayBeRenewed(code: Int) throws {
        var bench = JanusBench(JanusSecrets(token: "old"))
        bench.join()
        _ = bench.joined()
        _ = bench.sleep()
        let refusal = "\"janus\":\"error\",\"error\":{\"code\":\(code),\"reason\":\"no\"}"
        let since = bench.now
        var outputs = bench.answer(refusal)
        #expect(outputs.prefix(2) == [.closePeer, .closeSocket])
        #expect(bench.sleep() == [.openSocket])
        var renewed = bench
        _ = renewed.perform { session, now in
            session.renew(JanusSecrets(token: "new"))
            session.opened(now: now)
        }
        #expect(verb(renewed) == "create" && renewed.request?["token"]?.string == "new")
        // Nobody renews them.
        while ending(outputs) == nil, bench.now < since + .seconds(120) {
            _ = bench.perform { $0.opened(now: $1) }
            outputs = bench.answer(refusal)
            if ending(outputs) == nil { #expect(bench.sleep() == [.openSocket]) }
        }
        #expect(try #require(ending(outputs)).kind == .failed)
        #expect(since + .seconds(60)...since + .seconds(70) ~= bench.now)
    }

    @Test func whoNeverHadASecretIsNotWaitedFor() {
        var bench = JanusBench.published()
        _ = bench.sleep()
        let outputs = bench.answer("\"janus\":\"error\",\"error\":{\"code\":403,\"reason\":\"no\"}")
        #expect(ending(outputs)?.kind == .failed)
    }

    /// What the server believes of this side has changed: it is begun anew.
    @Test(arguments: [424, 425, 434, 435, 436, 458, 459, 468, 471]) func staleStatesBeginAnew(code: Int) {
        var bench = JanusBench()
        bench.join()
        let outputs = bench.event("\"videoroom\":\"event\",\"error_code\":\(code),\"error\":\"x\"")
        #expect(outputs.prefix(2) == [.closePeer, .closeSocket] && ending(outputs) == nil)
        #expect(bench.sleep() == [.openSocket])
    }
}
