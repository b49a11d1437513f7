import ICE
import NIOHTTP1
import TestSupport
import Testing
import Time

@testable import Calls
@testable import HTTP

/// What changes a session at a media server: relays that it names, candidates and restarts of ICE (RFC 9725 §4.3, §4.6).
@Suite struct WHIPChangeTests {
    private static let endpoint = WebURL(parsing: "https://whip.example.com/whip/endpoint")!
    private let now = Instant.seconds(1000)

    private func response(_ status: Int, _ headers: HTTPHeaders = [:], _ body: String = "") -> WebClient.Response {
        WebClient.Response(status: status, headers: headers, body: Array(body.utf8))
    }

    private func published(_ fields: HTTPHeaders = [:], tag: String? = "\"xyzzy\"") -> (
        WHIPSession, [WHIPSession.Output]
    ) {
        var session = WHIPSession(Self.endpoint, hasToken: true)
        session.start()
        session.described("v=0")
        _ = session.takeOutputs()
        var headers: HTTPHeaders = ["Content-Type": "application/sdp", "Location": "/session/id"]
        if let tag { headers.add(name: "ETag", value: tag) }
        headers.add(contentsOf: fields)
        session.answered(response(201, headers, "v=0"), now: now)
        let outputs = session.takeOutputs()
        return (session, outputs)
    }

    /// The only output, a PATCH: its condition, and its body.
    private func patch(_ session: inout WHIPSession) -> String {
        let outputs = session.takeOutputs()
        guard outputs.count == 1, case .change(let request) = outputs[0] else { return "\(outputs)" }
        #expect(request.method == .PATCH && request.url.description == "https://whip.example.com:443/session/id")
        #expect(request.headers.first(name: "content-type") == "application/trickle-ice-sdpfrag")
        #expect(request.isAuthorized)
        return "\(request.headers.first(name: "if-match") ?? "-") \(request.body)"
    }

    // MARK: - Suspends

    /// The machine was suspended: whether the server has the session still is asked before any silence tells it.
    @Test func theServerIsAskedAfterASuspend() {
        var (session, _) = published()
        session.connected()
        session.slept(for: .seconds(29), now: now)
        #expect(session.takeOutputs().isEmpty, "a nap ends nothing")
        session.slept(for: .seconds(30), now: now)
        let outputs = session.takeOutputs()
        guard outputs.count == 1, case .probe(let request) = outputs[0] else {
            Issue.record("\(outputs)")
            return
        }
        #expect(request.method == .OPTIONS && request.url.target == "/session/id")
        session.slept(for: .seconds(30), now: now)
        #expect(session.takeOutputs().isEmpty, "it is being asked")
        session.probed(.success(response(404)), now: now)
        #expect(session.nextDeadline == now + .seconds(1))
    }

    /// What the server has asked for went by meanwhile.
    @Test func whoWaitsDoesNotWaitAnewAfterASuspend() {
        for (seconds, isOver) in [(10, false), (29, false), (30, true), (3600, true)] {
            var session = WHIPSession(Self.endpoint, hasToken: true)
            session.start()
            session.described("v=0")
            session.answered(response(503, ["Retry-After": "30"]), now: now)
            _ = session.takeOutputs()
            session.slept(for: .seconds(seconds), now: now)
            #expect(session.takeOutputs() == (isOver ? [.offer] : []))
            #expect(session.nextDeadline == (isOver ? nil : now + .seconds(30 - seconds)))
        }
    }

    /// What a server asks for is no matter of the network.
    @Test func anotherNetworkIsTriedAtOnce() {
        for isAsked in [false, true] {
            var (session, _) = published()
            session.peerEnded("is out of reach", isFinal: false, now: now)
            if isAsked {
                session.tick(now: now + .seconds(1))
                session.described("v=0")
                session.answered(response(503, ["Retry-After": "30"]), now: now)
            }
            _ = session.takeOutputs()
            session.networkChanged()
            #expect(session.takeOutputs() == (isAsked ? [] : [.offer]))
            session.networkChanged()
            #expect(session.takeOutputs().isEmpty)
        }
    }

    /// As a portal does, where one has to log in first.
    @Test func anotherInTheServersPlaceEndsNoCallThatWas() {
        var (session, _) = published()
        session.peerEnded("is out of reach", isFinal: false, now: now)
        session.tick(now: now + .seconds(1))
        session.described("v=0")
        _ = session.takeOutputs()
        session.failed(.untrusted(Self.endpoint.origin), now: now)
        #expect(session.nextDeadline != nil)
    }

    // MARK: - Link

    /// §4.6, figure 8.
    @Test func theServersOfTheExampleAreUsed() {
        var links = HTTPHeaders()
        let login = "username=\"user\"; credential=\"myPassword\"; credential-type=\"password\""
        links.add(name: "Link", value: "<stun:stun.example.net>; rel=\"ice-server\"")
        for place in [
            "turn:turn.example.net?transport=udp", "turn:turn.example.net?transport=tcp",
            "turns:turn.example.net?transport=tcp",
        ] {
            links.add(name: "Link", value: "<\(place)>; rel=\"ice-server\"; \(login)")
        }
        links.add(name: "Link", value: "<https://x/y>; rel=\"urn:ietf:params:whip:ext:core:server-sent-events\"")
        let (_, outputs) = published(links)
        guard case .use(let servers)? = outputs.last, outputs.first == .accept(sdp: "v=0"), outputs.count == 2 else {
            Issue.record("\(outputs)")
            return
        }
        #expect(servers.map(\.host) == ["stun.example.net"] + Array(repeating: "turn.example.net", count: 3))
        #expect(servers.map(\.port) == [3478, 3478, 3478, 5349])
        let relays = [TURNTransport.udp, .tcp, .tls].map {
            NamedICEServer.Service.turn($0, username: "user", password: "myPassword")
        }
        #expect(servers.map(\.service) == [.stun] + relays)
    }

    @Test(arguments: [
        ("<turn:h:99>;rel=ice-server;username=\"a\\\"b\";credential=\"c,;\\\\\"", "h 99 udp a\"b c,;\\"),
        ("<turn:[2001:DB8::1]:7?transport=TCP>; rel=ice-server; username=u; credential=p", "2001:db8::1 7 tcp u p"),
        ("<TURNS:H>; rel=ice-server; username=u; credential=p", "h 5349 tls u p"),
        ("turn%3Ah%3A1; rel=ice-server; username=u; credential=p", "h 1 udp u p"),
        ("<stun:h>; rel=\"x ice-server\"", "h 3478 stun"),
        ("<turn:h>; rel=ice-server", "h, of which it gives no password"),
        ("<turn:h>; rel=ice-server; username=u; credential=\"\"", "h, of which it gives no password"),
        (
            "<turn:h>; rel=ice-server; username=u; credential=p; credential-type=oauth",
            "h, of which it gives no password"
        ),
        ("<turn:h>; rel=ice-server; username=u; credential=\"\0\"", "h, of which it gives no password"),
        ("<turn:h?transport=sctp>; rel=ice-server; username=u; credential=p", "one by turn in this way"),
        ("<turns:h?transport=udp>; rel=ice-server; username=u; credential=p", "one by turns in this way"),
        ("<stuns:h>; rel=ice-server", "one by stuns"), ("<https://h>; rel=ice-server", "one by https"),
        ("<:h>; rel=ice-server", "one by no scheme"), ("<stun:>; rel=ice-server", "one whose address is malformed"),
        ("<stun:h:0>; rel=ice-server", "one whose address is malformed"),
        ("<stun:h:65536>; rel=ice-server", "one whose address is malformed"),
        ("<stun:u@h>; rel=ice-server", "one whose address is malformed"),
        ("<stun>; rel=ice-server", "one whose address is malformed"),
    ])
    func serversAreNamedInManyWays(link: String, what: String) {
        let (servers, flaws) = NamedICEServer.servers(in: LinkHeader.links(in: [link]))
        let found = servers.map { server in
            switch server.service {
            case .stun: "\(server.host) \(server.port) stun"
            case .turn(let way, let username, let password):
                "\(server.host) \(server.port) \(way.rawValue) \(username) \(password)"
            }
        }
        #expect(found + flaws.map { "\($0)" } == [what])
    }

    /// RFC 8489 §14.3 for usernames, RFC 1035 §2.3.4 for names of hosts.
    @Test(arguments: [
        (508, 508, 253, 65_535, true), (509, 508, 253, 65_535, false), (508, 509, 253, 65_535, false),
        (508, 508, 254, 65_535, false), (1, 1, 1, 1, true), (0, 1, 1, 1, false),
    ])
    func wordsOfServersHaveLimits(username: Int, password: Int, host: Int, port: Int, isUsable: Bool) {
        func word(_ length: Int) -> String { String(repeating: "w", count: length) }
        let login = "username=\"\(word(username))\"; credential=\"\(word(password))\""
        let link = "<turn:\(word(host)):\(port)>; rel=ice-server; \(login)"
        let (servers, flaws) = NamedICEServer.servers(in: LinkHeader.links(in: [link]))
        #expect(servers.count == (isUsable ? 1 : 0) && flaws.count == (isUsable ? 0 : 1), "\(flaws)")
    }

    @Test func whatCannotBeUsedIsToldInOneLine() {
        let (_, outputs) = published([
            "Link":
                "<turn:h>; rel=ice-server, <stuns:h>; rel=ice-server, <stuns:i>; rel=ice-server, <stun:h>; rel=ice-server"
        ])
        #expect(
            outputs.last
                == .unusable(
                    "the server names relays that cannot be used: h, of which it gives no password, one by stuns"
                )
        )
        #expect(outputs.contains { if case .use(let servers) = $0 { servers.count == 1 } else { false } })
        #expect(published(["Link": "</x>; rel=next"]).1.count == 1)
    }

    // MARK: - Trickle

    @Test func candidatesAreSentWithTheTag() {
        var (session, _) = published()
        session.gathered("a")
        #expect(patch(&session) == "\"xyzzy\" a")
        // One after the other, of those that wait the newest.
        session.gathered("b")
        session.gathered("c")
        #expect(session.takeOutputs().isEmpty)
        session.changed(.success(response(204)), now: now)
        #expect(patch(&session) == "\"xyzzy\" c")
        session.changed(.success(response(204)), now: now)
        #expect(session.takeOutputs().isEmpty)
        (session, _) = published(tag: nil)
        session.gathered("a")
        #expect(patch(&session) == "- a")
    }

    /// §4.3.1: whether it takes candidates, and whether it takes restarts after that.
    @Test(arguments: [
        (200, true, true), (204, true, true), (400, true, true), (403, true, true), (405, false, false),
        (415, false, true), (422, false, true), (428, false, true), (500, true, true), (501, false, false),
        (503, true, true), (412, true, true),
    ])
    func whatAServerDoesNotTakeItIsNotSentAgain(status: Int, trickles: Bool, restarts: Bool) {
        var (session, _) = published()
        session.gathered("a")
        _ = session.takeOutputs()
        session.changed(.success(response(status)), now: now)
        #expect(session.takeOutputs().isEmpty && session.nextDeadline == nil)
        session.gathered("b")
        #expect(session.takeOutputs().isEmpty != trickles)
        if trickles { session.changed(.success(response(204)), now: now) }
        lose(&session)
        #expect(session.takeOutputs().contains(.propose) == restarts)
        // It is deleted all the same.
        session.leave()
        #expect(session.takeOutputs().last == .ended(nil))
    }

    @Test func aTagThatHasChangedIsTakenOnce() {
        var (session, _) = published()
        session.gathered("a")
        _ = session.takeOutputs()
        session.changed(.success(response(412, ["ETag": "\"new\""])), now: now)
        #expect(patch(&session) == "\"new\" a")
        session.changed(.success(response(412, ["ETag": "\"newer\""])), now: now)
        #expect(session.takeOutputs().isEmpty)
        session.gathered("b")
        #expect(patch(&session) == "\"new\" b")
    }

    @Test func aSessionThatIsGoneIsPublishedAgain() {
        for status in [404, 410] {
            var (session, _) = published()
            session.gathered("a")
            _ = session.takeOutputs()
            session.changed(.success(response(status)), now: now)
            let outputs = session.takeOutputs()
            #expect(outputs.first == .closePeer && session.nextDeadline == now + .seconds(1), "\(outputs)")
            session.tick(now: now + .seconds(1))
            #expect(session.takeOutputs() == [.offer])
            // Of the one before.
            session.changed(.success(response(204)), now: now)
            session.gathered("b")
            #expect(session.takeOutputs().isEmpty)
        }
    }

    // MARK: - Restart

    /// Nothing is heard, but the server has the session.
    private func lose(_ session: inout WHIPSession) {
        for _ in 0..<WHIPSession.silencesOfLoss {
            session.silent()
            session.probed(.success(response(204)), now: now)
        }
    }

    /// §4.3.3, figure 7.
    @Test func aPathThatIsLostIsSoughtAnew() {
        var (session, _) = published()
        for _ in 1..<WHIPSession.silencesOfLoss {
            session.silent()
            session.probed(.success(response(204)), now: now)
        }
        #expect(!session.takeOutputs().contains(.propose))
        session.silent()
        session.probed(.success(response(204)), now: now)
        #expect(session.takeOutputs().last == .propose)
        // Candidates of the generation before are of no use any more.
        session.gathered("old")
        #expect(session.takeOutputs().isEmpty)
        session.proposed("new")
        #expect(patch(&session) == "* new")
        session.changed(.success(response(200, ["ETag": "\"abccd\""], "answer")), now: now)
        #expect(session.takeOutputs() == [.acceptProposal(fragment: "answer")])
        session.gathered("more")
        #expect(patch(&session) == "\"abccd\" more")
        session.changed(.success(response(204)), now: now)
        // What is heard ends the count.
        session.heard()
        session.silent()
        session.probed(.success(response(204)), now: now)
        #expect(!session.takeOutputs().contains(.propose))
    }

    /// Some servers take RFC 9725's example to the letter.
    @Test func theConditionIsSaidInBothWays() {
        var (session, _) = published()
        lose(&session)
        _ = session.takeOutputs()
        session.proposed("new")
        #expect(patch(&session) == "* new")
        session.changed(.success(response(412)), now: now)
        #expect(patch(&session) == "\"*\" new")
        session.changed(.success(response(200, ["ETag": "\"2\""], "answer")), now: now)
        #expect(session.takeOutputs() == [.acceptProposal(fragment: "answer")])
    }

    @Test(arguments: [
        (405, false), (412, false), (415, false), (422, false), (428, false), (501, false), (400, true), (500, true),
        (503, true), (204, true),
    ])
    func aServerThatDoesNotRestartIsNotAskedAgain(status: Int, isAskedAgain: Bool) {
        var (session, _) = published()
        lose(&session)
        _ = session.takeOutputs()
        session.proposed("new")
        session.changed(.success(response(status)), now: now)
        if status == 412 { session.changed(.success(response(status)), now: now) }
        #expect(session.takeOutputs().last == .abandonProposal)
        session.silent()
        session.probed(.success(response(204)), now: now)
        #expect(session.takeOutputs().contains(.propose) == isAskedAgain)
        // In the end it is published anew.
        session.peerEnded("is out of reach", isFinal: false, now: now)
        #expect(session.nextDeadline == now + .seconds(1))
    }

    @Test func aRestartWithoutAnAnswerIsTriedAgain() {
        var (session, _) = published()
        lose(&session)
        _ = session.takeOutputs()
        session.proposed("new")
        _ = session.takeOutputs()
        session.silent()
        session.probed(.success(response(204)), now: now)
        #expect(!session.takeOutputs().contains(.propose))
        session.changed(.failure(.silent(Self.endpoint.origin)), now: now)
        #expect(session.takeOutputs() == [.abandonProposal])
        session.silent()
        session.probed(.success(response(204)), now: now)
        #expect(session.takeOutputs().last == .propose)
        // The peer has none to propose.
        session.proposed(nil)
        session.gathered("a")
        #expect(patch(&session) == "\"xyzzy\" a")
    }
}
