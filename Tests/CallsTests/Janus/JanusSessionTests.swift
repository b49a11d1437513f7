import JSON
import TestSupport
import Testing
import Time

@testable import Calls

/// A publisher's states, with the messages that Janus 1.1.2 sends.
@Suite struct JanusSessionTests {
    @Test func aRoomIsJoinedWithTheOfferAndLeft() throws {
        var bench = JanusBench(room: "1234", JanusSecrets(apiSecret: "s", token: "t", pin: "p"))
        #expect(bench.perform { session, _ in session.start() } == [.openSocket])
        #expect(bench.perform { $0.opened(now: $1) } == [.offer])
        #expect(verb(bench) == "create")
        _ = bench.answer("\"janus\":\"success\",\"data\":{\"id\":\(JanusBench.session)}")
        #expect(verb(bench) == "attach" && bench.request?["plugin"]?.string == "janus.plugin.videoroom")
        _ = bench.answer("\"janus\":\"success\",\"data\":{\"id\":\(JanusBench.handle)}")
        // There is no offer yet.
        #expect(verb(bench) == "attach")
        _ = bench.perform { $0.described("v=0", now: $1) }
        let join = try #require(bench.request)
        #expect(join["janus"]?.string == "message" && join["jsep"]?["sdp"]?.string == "v=0")
        #expect(join["session_id"]?.integer == JanusBench.session && join["handle_id"]?.integer == JanusBench.handle)
        let body = try #require(join["body"])
        #expect(body["request"]?.string == "joinandconfigure" && body["ptype"]?.string == "publisher")
        #expect(body["room"]?.integer == 1234 && body["bitrate"]?.integer == 0)
        #expect(body["pin"]?.string == "p" && body["token"]?.string == "t")
        for request in bench.requests {
            #expect(request["apisecret"]?.string == "s" && request["token"]?.string == "t")
        }
        #expect(Set(bench.requests.map { $0["transaction"]!.text }).count == bench.requests.count)
        #expect(bench.answer("\"janus\":\"ack\"").isEmpty)
        #expect(bench.joined() == [.accept(sdp: JanusBench.answer)])
        // Answers that come twice do nothing.
        #expect(bench.joined().isEmpty)
        #expect(bench.answer("\"janus\":\"ack\"").isEmpty)
        #expect(bench.perform { $0.leave(now: $1) }.isEmpty)
        #expect(verb(bench) == "destroy")
        #expect(bench.answer("\"janus\":\"success\"") == [.closePeer, .closeSocket, .ended(nil)])
        #expect(bench.perform { $0.leave(now: $1) }.isEmpty)
        #expect(bench.session.nextDeadline == nil)
    }

    @Test func theOfferMayComeFirst() {
        var bench = JanusBench()
        _ = bench.perform { session, _ in session.start() }
        _ = bench.perform { $0.opened(now: $1) }
        _ = bench.perform { $0.described("v=0", now: $1) }
        _ = bench.answer("\"janus\":\"success\",\"data\":{\"id\":1}")
        _ = bench.answer("\"janus\":\"success\",\"data\":{\"id\":2}")
        #expect(verb(bench) == "message")
    }

    @Test func theSessionIsKeptAlive() {
        var bench = JanusBench.published()
        for _ in 0..<3 {
            let before = bench.now
            #expect(bench.sleep().isEmpty)
            #expect(verb(bench) == "keepalive" && bench.now - before == .seconds(25))
            #expect(bench.answer("\"janus\":\"ack\"").isEmpty)
        }
        // One that is not answered is a connection that is lost.
        _ = bench.sleep()
        #expect(bench.sleep() == [.closeSocket, .retrying(why: "ws://janus.example.com:8188 does not answer")])
    }

    /// The server's clock goes on while this machine sleeps.
    @Test func theSessionIsKeptAliveAfterANap() {
        var bench = JanusBench.published()
        let before = bench.now
        #expect(bench.perform { $0.slept(for: .seconds(20), now: $1) }.isEmpty)
        #expect(bench.sleep().isEmpty)
        #expect(verb(bench) == "keepalive" && bench.now - before == .seconds(5))
        #expect(bench.answer("\"janus\":\"ack\"").isEmpty)
        #expect(bench.perform { $0.slept(for: .seconds(29), now: $1) }.isEmpty)
        #expect(verb(bench) == "keepalive", "at once")
    }

    /// As a portal does, where one has to log in first.
    @Test func anotherInTheServersPlaceEndsNoCallThatWas() {
        var bench = JanusBench.published()
        _ = bench.perform { $0.lost("the connection is lost", now: $1) }
        _ = bench.perform { session, _ in session.networkChanged() }
        let outputs = bench.perform { $0.lost("its certificate is not trusted", .failed, now: $1) }
        #expect(ending(outputs) == nil && bench.session.nextDeadline != nil)
    }

    @Test func aRoomsNumberMayBeAName() {
        var bench = JanusBench()
        bench.join()
        let fault =
            "\"videoroom\":\"event\",\"error_code\":430,\"error\":\"Invalid element type (room should be a string)\""
        #expect(bench.event(fault).isEmpty)
        // Another handle, as the first has taken the offer.
        #expect(verb(bench) == "attach")
        _ = bench.answer("\"janus\":\"success\",\"data\":{\"id\":5}")
        #expect(bench.request?["body"]?["room"]?.string == "1234" && bench.request?["handle_id"]?.integer == 5)
        // Once.
        #expect(ending(bench.event(fault))?.kind == .failed)
        bench = JanusBench(room: "tea")
        bench.join()
        #expect(bench.request?["body"]?["room"]?.string == "tea")
        let other = "\"error_code\":430,\"error\":\"Invalid element type (room should be a positive integer)\""
        #expect(ending(bench.event(other))?.description.contains("has numbers for rooms") == true)
    }

    @Test(arguments: ["a=inactive", "a=sendonly"]) func aRoomWithoutACodecInCommonIsToldOf(direction: String) throws {
        var bench = JanusBench()
        bench.join()
        let outputs = bench.joined(sdp: JanusBench.answer.replacing("a=recvonly", with: direction))
        let sentence = try #require(ending(outputs)).description
        #expect(sentence.contains("takes no VP8, no VP9 in room 1234: set videocodec = \"vp8,vp9\""))
    }

    @Test(arguments: ["offer", "pranswer", ""]) func whatIsNoAnswerEndsIt(type: String) throws {
        var bench = JanusBench()
        bench.join()
        #expect(try #require(ending(bench.joined(type: type))).description.contains("where an answer belongs"))
    }

    /// The server may be no Janus, or hang, at each step.
    @Test(arguments: 0...3) func aServerThatNeverAnswersIsGivenUp(step: Int) throws {
        var bench = JanusBench()
        _ = bench.perform { session, _ in session.start() }
        _ = bench.perform { $0.opened(now: $1) }
        if step > 0 { _ = bench.answer("\"janus\":\"success\",\"data\":{\"id\":1}") }
        if step > 1 {
            _ = bench.answer("\"janus\":\"success\",\"data\":{\"id\":2}")
            _ = bench.perform { $0.described("v=0", now: $1) }
        }
        if step > 2 { _ = bench.answer("\"janus\":\"ack\"") }
        let begin = bench.now
        let end = try #require(ending(bench.sleep()))
        #expect(end.kind == .unavailable && end.description.contains("check the address"))
        #expect(bench.now - begin == .seconds(10))
    }

    @Test func aServerThatIsNotThereEndsItUnlessItWas() throws {
        var bench = JanusBench()
        _ = bench.perform { session, _ in session.start() }
        let outputs = bench.perform { $0.lost("cannot reach it", now: $1) }
        #expect(ending(outputs) == CallEnd(.unavailable, "cannot reach it"))
        bench = .published()
        _ = bench.perform { $0.lost("the connection is lost", now: $1) }
        _ = bench.perform { $0.peerEnded("is out of reach", isFinal: false, now: $1) }
        // It is away for long, and asked at intervals that grow.
        var pauses: [Int] = []
        for _ in 0..<16 {
            let before = bench.now
            #expect(bench.sleep() == [.openSocket])
            pauses.append(Int((bench.now - before).milliseconds.rounded()))
            #expect(bench.perform { $0.lost("refused", now: $1) }.contains(.retrying(why: "refused")))
        }
        let growing = [500, 625, 781, 977, 1221, 1526, 1907, 2384, 2980, 3725, 4657, 5821, 7276]
        #expect(pauses == growing + [8000, 8000, 8000])
        bench = JanusBench()
        _ = bench.perform { session, _ in session.start() }
        // A certificate does not become better.
        #expect(ending(bench.perform { $0.lost("is not trusted", .failed, now: $1) })?.kind == .failed)
    }

    @Test func aSessionIsClaimed() {
        var bench = JanusBench.published()
        let outputs = bench.perform { $0.lost("lost", now: $1) }
        #expect(outputs == [.closeSocket, .retrying(why: "lost")])
        #expect(bench.sleep() == [.openSocket])
        #expect(bench.perform { $0.opened(now: $1) }.isEmpty)
        #expect(verb(bench) == "claim" && bench.request?["session_id"]?.integer == JanusBench.session)
        #expect(bench.answer("\"janus\":\"success\"") == [.resumed])
        _ = bench.sleep()
        #expect(verb(bench) == "keepalive")
    }

    @Test func aSessionThatCannotBeClaimedIsMadeAnew() {
        var bench = JanusBench.published()
        _ = bench.perform { $0.lost("lost", now: $1) }
        _ = bench.sleep()
        _ = bench.perform { $0.opened(now: $1) }
        let outputs = bench.answer("\"janus\":\"error\",\"error\":{\"code\":458,\"reason\":\"No such session\"}")
        #expect(outputs == [.closePeer, .offer])
        #expect(verb(bench) == "create")
        _ = bench.perform { $0.described("v=0", now: $1) }
        _ = bench.answer("\"janus\":\"success\",\"data\":{\"id\":1}")
        _ = bench.answer("\"janus\":\"success\",\"data\":{\"id\":2}")
        // Its own ghost holds the place, or the room is not made again yet.
        for code in [432, 426] {
            let outputs = bench.event("\"error_code\":\(code),\"error\":\"x\"").suffix(2)
            #expect(outputs.first == .closeSocket)
            _ = bench.sleep()
            _ = bench.perform { $0.opened(now: $1) }
            _ = bench.perform { $0.described("v=0", now: $1) }
            _ = bench.answer("\"janus\":\"success\",\"data\":{\"id\":1}")
            _ = bench.answer("\"janus\":\"success\",\"data\":{\"id\":2}")
        }
        #expect(bench.joined() == [.accept(sdp: JanusBench.answer)])
    }

    @Test(
        arguments: [
            ("\"janus\":\"hangup\",\"reason\":\"ICE failed\"", "has hung up (ICE failed)"),
            ("\"janus\":\"detached\"", "has taken the VideoRoom away"), ("\"janus\":\"timeout\"", "lapse"),
        ]
    )
    func whatTheServerEndsIsBegunAnew(members: String, words: String) throws {
        var bench = JanusBench.published()
        func message(_ session: Int, _ handle: Int) -> String {
            "{\(members),\"session_id\":\(session),\"sender\":\(handle)}"
        }
        // Of others.
        #expect(bench.receive(message(1, JanusBench.handle)).isEmpty)
        if !members.contains("timeout") { #expect(bench.receive(message(JanusBench.session, 1)).isEmpty) }
        let outputs = bench.receive(message(JanusBench.session, JanusBench.handle))
        #expect(outputs.prefix(2) == [.closePeer, .closeSocket])
        guard case .retrying(let why) = try #require(outputs.last) else {
            Issue.record("\(outputs)")
            return
        }
        #expect(why.contains(words))
        #expect(bench.sleep() == [.openSocket])
    }

    @Test(
        arguments: [
            "\"videoroom\":\"event\",\"room\":1234,\"leaving\":\"ok\",\"reason\":\"kicked\"",
            "\"videoroom\":\"destroyed\",\"room\":1234",
        ]
    )
    func whoIsSentAwayStaysAway(data: String) {
        var bench = JanusBench.published()
        #expect(ending(bench.event(data))?.kind == .tryAgain)
    }

    /// A still picture, losses that feedback tells of, and others who come and go.
    @Test(
        arguments: [
            "\"janus\":\"webrtcup\"",
            "\"janus\":\"media\",\"type\":\"video\",\"mid\":\"0\",\"receiving\":false,\"seconds\":1",
            "\"janus\":\"slowlink\",\"uplink\":true,\"lost\":20", "\"janus\":\"keepalive\"",
            "\"janus\":\"server_info\"",
            "\"janus\":\"event\",\"plugindata\":{\"data\":{\"videoroom\":\"event\",\"publishers\":[{\"id\":1}]}}",
            "\"janus\":\"event\",\"plugindata\":{\"data\":{\"videoroom\":\"event\",\"leaving\":883740818949249}}",
            "\"janus\":\"event\",\"plugindata\":{\"data\":{\"videoroom\":\"event\",\"leaving\":\"ok\"}}",
        ]
    )
    func whatNeedsNoDeedDoesNothing(members: String) {
        var bench = JanusBench.published()
        let ids = ",\"session_id\":\(JanusBench.session),\"sender\":\(JanusBench.handle)"
        #expect(bench.receive("{\(members)\(ids)}").isEmpty)
        #expect(bench.requests.count == 3)
    }

    @Test func candidatesAreTried() {
        var bench = JanusBench.published()
        let ids = "\"session_id\":\(JanusBench.session),\"sender\":\(JanusBench.handle)"
        let line = "candidate:1 1 udp 2015363327 10.99.0.2 20000 typ host"
        let trickle = "{\"janus\":\"trickle\",\(ids),\"candidate\":{\"sdpMid\":\"0\",\"candidate\":\"\(line)\"}}"
        #expect(bench.receive(trickle) == [.addCandidate(line: line)])
        #expect(bench.receive("{\"janus\":\"trickle\",\(ids),\"candidate\":{\"completed\":true}}").isEmpty)
    }

    @Test func aPeerThatEndsIsMadeAnewUnlessThatIsOfNoUse() {
        var bench = JanusBench.published()
        let outputs = bench.perform { $0.peerEnded("is out of reach", isFinal: false, now: $1) }
        #expect(outputs.last == .retrying(why: "ws://janus.example.com:8188 is out of reach"))
        #expect(verb(bench) == "destroy")
        bench = .published()
        #expect(ending(bench.perform { $0.peerEnded("makes no sense", isFinal: true, now: $1) })?.kind == .failed)
    }

    /// Who leaves is let go, wherever that is, and however the server answers.
    @Test func leavingEndsItFromEachState() {
        for count in 0..<12 {
            var bench = JanusBench()
            let steps: [(inout JanusBench) -> Void] = [
                { _ = $0.perform { session, _ in session.start() } }, { _ = $0.perform { $0.opened(now: $1) } },
                { _ = $0.answer("\"janus\":\"success\",\"data\":{\"id\":1}") },
                { _ = $0.answer("\"janus\":\"success\",\"data\":{\"id\":2}") },
                { _ = $0.perform { $0.described("v=0", now: $1) } }, { _ = $0.joined() },
                { _ = $0.perform { session, _ in session.connected() } }, { _ = $0.sleep() },
                { _ = $0.perform { $0.lost("lost", now: $1) } }, { _ = $0.sleep() },
                { _ = $0.perform { $0.opened(now: $1) } },
            ]
            for step in steps.prefix(count) { step(&bench) }
            var outputs = bench.perform { $0.leave(now: $1) }
            if bench.session.nextDeadline != nil { outputs += bench.sleep() }
            #expect(outputs == [.closePeer, .closeSocket, .ended(nil)], "after \(count) steps")
        }
    }
}
