import JSON
import TestSupport
import Testing
import Time
import WebRTC

@testable import Calls

/// A publisher that comes to another network, with what Janus 1.1.2 says to a restart of ICE.
@Suite struct JanusRestartTests {
    /// Another generation, as a peer tells of it.
    static let fragment =
        "a=group:BUNDLE 0\r\nm=video 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\na=ice-ufrag:bbbb\r\n"
        + "a=ice-pwd:bbbbbbbbbbbbbbbbbbbbbb\r\na=candidate:1 1 udp 2015363327 10.99.0.7 40001 typ host\r\n"
        + "a=end-of-candidates\r\n"

    private func configured(_ bench: inout JanusBench, jsep: String? = "answer") -> [JanusSession.Output] {
        let sdp = JSONText(string: JanusBench.answer).text
        return bench.event(
            "\"videoroom\":\"event\",\"room\":1234,\"configured\":\"ok\"",
            jsep: jsep.map { ",\"jsep\":{\"type\":\"\($0)\",\"sdp\":\(sdp)}" } ?? ""
        )
    }

    private func migrate(_ bench: inout JanusBench) -> [JanusSession.Output] {
        bench.perform { session, _ in session.migrating() }
    }

    private func propose(_ bench: inout JanusBench, _ fragment: String? = fragment) -> [JanusSession.Output] {
        bench.perform { $0.proposed(fragment, now: $1) }
    }

    @Test func anotherPathIsAskedForWithinTheSession() throws {
        var bench = JanusBench.published()
        #expect(migrate(&bench) == [.propose])
        // Again, before it is prepared.
        #expect(migrate(&bench).isEmpty)
        #expect(bench.requests.count == 3)
        #expect(propose(&bench).isEmpty)
        let request = try #require(bench.request)
        #expect(verb(bench) == "message" && request["body"]?.text == "{\"request\":\"configure\"}")
        #expect(
            request["session_id"]?.integer == JanusBench.session && request["handle_id"]?.integer == JanusBench.handle
        )
        #expect(request["jsep"]?["type"]?.string == "offer")
        #expect(
            request["jsep"]?["sdp"]?.string
                == JanusBench.offer.replacing("- 7 1 IN", with: "- 7 2 IN").replacing("ufrag:aaaa", with: "ufrag:bbbb")
                .replacing("pwd:aaaaaaaaaaaaaaaaaaaaaa", with: "pwd:bbbbbbbbbbbbbbbbbbbbbb")
                .replacing("10.99.0.1 40000", with: "10.99.0.7 40001")
        )
        #expect(bench.answer("\"janus\":\"ack\"").isEmpty)
        #expect(configured(&bench) == [.acceptProposal(sdp: JanusBench.answer)])
        // Answers that come twice do nothing, and the session is kept alive as before.
        #expect(configured(&bench).isEmpty)
        #expect(bench.sleep().isEmpty && verb(bench) == "keepalive")
        _ = bench.answer("\"janus\":\"ack\"")
        // The next time, the version is the next one.
        #expect(migrate(&bench) == [.propose])
        _ = propose(&bench)
        #expect(bench.request?["jsep"]?["sdp"]?.string?.contains("- 7 3 IN") == true)
    }

    /// The WebSocket began at that address, too.
    @Test func afterAClaimItIsAskedFor() {
        var bench = JanusBench.published()
        _ = bench.perform { $0.lost("lost", now: $1) }
        #expect(migrate(&bench).isEmpty)
        #expect(bench.perform { session, _ in session.networkChanged() } == [.openSocket])
        _ = bench.perform { $0.opened(now: $1) }
        #expect(verb(bench) == "claim")
        #expect(bench.answer("\"janus\":\"success\"") == [.resumed, .propose])
        _ = propose(&bench)
        #expect(configured(&bench) == [.acceptProposal(sdp: JanusBench.answer)])
        // What is done need not be done again.
        _ = bench.perform { $0.lost("lost", now: $1) }
        _ = bench.sleep()
        _ = bench.perform { $0.opened(now: $1) }
        #expect(bench.answer("\"janus\":\"success\"") == [.resumed])
    }

    /// The WebSocket is lost while the peer prepares another generation, or Janus is asked to take it: it may have.
    @Test(arguments: [false, true]) func whatWasNotAnsweredIsAskedForAgain(wasAsked: Bool) {
        var bench = JanusBench.published()
        _ = migrate(&bench)
        if wasAsked { _ = propose(&bench) }
        let outputs = bench.perform { $0.lost("lost", now: $1) }
        #expect(outputs == [.abandonProposal, .closeSocket, .retrying(why: "lost")])
        // It is of no use any more.
        #expect(propose(&bench).isEmpty)
        _ = bench.sleep()
        _ = bench.perform { $0.opened(now: $1) }
        #expect(bench.answer("\"janus\":\"success\"") == [.resumed, .propose])
    }

    @Test func aServerThatDoesNotAnswerIsLost() {
        var bench = JanusBench.published()
        _ = migrate(&bench)
        _ = propose(&bench)
        _ = bench.answer("\"janus\":\"ack\"")
        let before = bench.now
        let why = "ws://janus.example.com:8188 does not answer"
        #expect(bench.sleep() == [.abandonProposal, .closeSocket, .retrying(why: why)])
        #expect(bench.now - before == .seconds(10))
    }

    /// A keepalive is on its way meanwhile.
    @Test func bothAnswersAreAwaited() {
        var bench = JanusBench.published()
        _ = bench.sleep()
        let keepAlive = bench.request?["transaction"]?.text ?? ""
        _ = migrate(&bench)
        _ = propose(&bench)
        #expect(bench.receive("{\"janus\":\"ack\",\"transaction\":\(keepAlive)}").isEmpty)
        #expect(configured(&bench) == [.acceptProposal(sdp: JanusBench.answer)])
        let before = bench.now
        _ = bench.sleep()
        #expect(verb(bench) == "keepalive" && bench.now - before == .seconds(25))
    }

    /// As when the machine has no address yet.
    @Test func whatCannotBePreparedYetIsTriedWithTheNextChange() {
        var bench = JanusBench.published()
        _ = migrate(&bench)
        #expect(propose(&bench, nil).isEmpty)
        #expect(bench.perform { session, _ in session.networkChanged() } == [.propose])
        _ = propose(&bench, nil)
        #expect(migrate(&bench) == [.propose])
    }

    /// Janus would report to nobody.
    @Test func aRestartThatIsRefusedIsBegunAnew() throws {
        for answer in [
            "\"videoroom\":\"event\",\"error_code\":437,\"error\":\"x\"",
            "\"videoroom\":\"event\",\"configured\":\"ok\"",
        ] {
            var bench = JanusBench.published()
            _ = migrate(&bench)
            _ = propose(&bench)
            let outputs = bench.event(answer)
            #expect(outputs.prefix(2) == [.closePeer, .closeSocket] && ending(outputs) == nil, "\(outputs)")
            #expect(verb(bench) == "destroy")
            // A new peer knows the network.
            _ = bench.sleep()
            _ = bench.perform { $0.opened(now: $1) }
            _ = bench.answer("\"janus\":\"success\",\"data\":{\"id\":1}")
            _ = bench.answer("\"janus\":\"success\",\"data\":{\"id\":2}")
            _ = bench.perform { $0.described(JanusBench.offer, now: $1) }
            #expect(bench.joined() == [.accept(sdp: JanusBench.answer)])
        }
    }

    /// While the room takes this side in.
    @Test func aPeerThatHasJustAnsweredIsAskedNext() {
        var bench = JanusBench()
        bench.join()
        #expect(migrate(&bench).isEmpty)
        #expect(bench.joined() == [.accept(sdp: JanusBench.answer), .propose])
    }

    // MARK: - Connecting again

    @Test func aChangeOfTheNetworkEndsAWait() {
        var bench = JanusBench.published()
        _ = bench.perform { $0.lost("lost", now: $1) }
        // It was away for long.
        for _ in 0..<20 {
            _ = bench.sleep()
            _ = bench.perform { $0.lost("no route", now: $1) }
        }
        #expect(bench.perform { session, _ in session.networkChanged() } == [.openSocket])
        // An attempt from the old address would be given up later only.
        #expect(bench.perform { session, _ in session.networkChanged() } == [.closeSocket, .openSocket])
        // The route may come after the address.
        _ = bench.perform { $0.lost("no route", now: $1) }
        let before = bench.now
        #expect(bench.sleep() == [.openSocket])
        #expect(bench.now - before == .milliseconds(500))
        _ = bench.perform { $0.opened(now: $1) }
        #expect(verb(bench) == "claim")
    }

    @Test func aChangeThatConcernsNothingDoesNothing() {
        var bench = JanusBench.published()
        #expect(bench.perform { session, _ in session.networkChanged() }.isEmpty)
        #expect(bench.requests.count == 3)
        bench = JanusBench()
        bench.join()
        #expect(bench.perform { session, _ in session.networkChanged() }.isEmpty)
    }
}
