import NIOHTTP1
import TestSupport
import Testing
import Time

@testable import Calls
@testable import HTTP

/// The states of a publisher, with the messages of RFC 9725.
@Suite struct WHIPSessionTests {
    private static let endpoint = WebURL(parsing: "https://whip.example.com/whip/endpoint")!
    private let now = Instant.seconds(1000)

    /// A session that has posted its offer.
    private func posted(hasToken: Bool = true) -> (WHIPSession, [WHIPSession.Output]) {
        var session = WHIPSession(Self.endpoint, hasToken: hasToken)
        session.start()
        #expect(session.takeOutputs() == [.offer])
        session.described("v=0")
        let outputs = session.takeOutputs()
        return (session, outputs)
    }

    private func response(_ status: Int, _ headers: HTTPHeaders = [:], _ body: String = "") -> WebClient.Response {
        WebClient.Response(status: status, headers: headers, body: Array(body.utf8))
    }

    private static let created: HTTPHeaders = [
        "ETag": "\"xyzzy\"", "Content-Type": "application/sdp", "Location": "/session/id",
    ]

    private func requests(_ outputs: [WHIPSession.Output]) -> [String] {
        outputs.compactMap { output in
            switch output {
            case .request(let request), .farewell(let request), .probe(let request), .change(let request):
                "\(request.method) \(request.url) \(request.isAuthorized ? "token" : "-")"
            default: nil
            }
        }
    }

    /// RFC 9725 §4.2, figures 2 and 3; §4.2 at the end for DELETE.
    @Test func anOfferIsPostedAndTheSessionDeleted() {
        var (session, outputs) = posted()
        guard case .request(let post)? = outputs.first, outputs.count == 1 else {
            Issue.record("\(outputs)")
            return
        }
        #expect(post.method == .POST && post.url == Self.endpoint && post.body == "v=0")
        #expect(post.headers.first(name: "content-type") == "application/sdp")
        #expect(post.isAuthorized)
        session.answered(response(201, Self.created, "v=0 answer"), now: now)
        #expect(session.takeOutputs() == [.accept(sdp: "v=0 answer")])
        session.connected()
        session.leave()
        outputs = session.takeOutputs()
        #expect(requests(outputs) == ["DELETE https://whip.example.com:443/session/id token"])
        #expect(outputs.last == .ended(nil))
        // Nothing more comes of it.
        session.leave()
        session.peerEnded("left", isFinal: false, now: now)
        session.answered(response(201, Self.created, "v=0"), now: now)
        session.tick(now: now + .seconds(100))
        #expect(session.takeOutputs().isEmpty)
    }

    /// §4.5.
    @Test func redirectsAreFollowed() {
        var (session, _) = posted()
        session.answered(response(307, ["Location": "https://whip2.example.com/endpoint2"]), now: now)
        // The token is the first server's, or the same host's by TLS.
        #expect(requests(session.takeOutputs()) == ["POST https://whip2.example.com:443/endpoint2 -"])
        session.answered(response(308, ["Location": "../three"]), now: now)
        #expect(requests(session.takeOutputs()) == ["POST https://whip2.example.com:443/three -"])
        session.answered(response(201, Self.created, "v=0"), now: now)
        session.leave()
        #expect(requests(session.takeOutputs()) == ["DELETE https://whip2.example.com:443/session/id -"])
    }

    /// No DELETE goes to a server that was not asked to publish, or out of TLS.
    @Test(arguments: ["https://victim.example/x", "http://whip.example.com/session/id", "//victim.example/x"])
    func noSessionIsOnAnotherServer(location: String) {
        for isLeaving in [true, false] {
            var (session, _) = posted()
            if isLeaving { session.leave() }
            session.answered(response(201, ["Location": location], "v=0"), now: now)
            let outputs = session.takeOutputs()
            if !isLeaving { session.leave() }
            #expect(requests(outputs + session.takeOutputs()) == [])
            let isTold = outputs.contains {
                if case .unusable(let why) = $0 { why.contains("on another server") } else { false }
            }
            #expect(isTold == !isLeaving)
        }
    }

    /// A server may echo a token with the escapes of its format.
    @Test(arguments: [
        "%54oken-0123456789", "Token%2D0123456789", "TOKEN-0123456789", "Token&#45;0123456789", "Token&#x2d;0123456789",
        "Token\\u002d0123456789", "T o k e n - 0123456789",
    ])
    func anEscapedTokenIsHidden(echo: String) {
        let answer = response(401, ["Content-Type": "text/plain"], "no \(echo) here")
        #expect(answer.reason(hiding: ["Token-0123456789"]) == ": ***")
        #expect(answer.reason(hiding: ["Token-9876543210"]).contains("here"))
    }

    /// A pattern that looks for all backslashes from each of them would take hours.
    @Test func manyBackslashesAreReadOnce() {
        let echo = String(repeating: "\\", count: 1_000_000) + "u002d"
        #expect("Token\(echo)0123456789".hiding(["Token-0123456789"]) == "***")
    }

    @Test func theTokenFollowsAHostToTLS() {
        let endpoint = WebURL(parsing: "http://whip.example.com/x")!
        var session = WHIPSession(endpoint, hasToken: true)
        session.start()
        session.described("v=0")
        _ = session.takeOutputs()
        session.answered(response(308, ["Location": "https://whip.example.com/x"]), now: now)
        #expect(requests(session.takeOutputs()) == ["POST https://whip.example.com:443/x token"])
    }

    /// Whatever the server makes of an offer that is on its way does not stay behind.
    @Test func whoLeavesWhileTheOfferIsOnItsWayDeletesTheSession() {
        var (session, _) = posted()
        session.leave()
        #expect(session.takeOutputs().isEmpty)
        session.answered(response(201, Self.created, "v=0"), now: now)
        var outputs = session.takeOutputs()
        #expect(requests(outputs) == ["DELETE https://whip.example.com:443/session/id token"])
        #expect(outputs.last == .ended(nil))
        for end in [{ $0.answered(response(500), now: now) }, { $0.failed(.silent(Self.endpoint.origin), now: now) }]
            as [(inout WHIPSession) -> Void]
        {
            (session, _) = posted()
            session.leave()
            end(&session)
            outputs = session.takeOutputs()
            #expect(outputs == [.closePeer, .ended(nil)])
        }
    }

    @Test(arguments: [["Location": "http://whip.example.com/"], [:], ["Location": "ftp://x"]] as [HTTPHeaders])
    func redirectsThatLeadAstrayEndIt(headers: HTTPHeaders) {
        var (session, _) = posted()
        session.answered(response(307, headers), now: now)
        guard case .ended(let end?)? = session.takeOutputs().last else {
            Issue.record("it goes on")
            return
        }
        #expect(end.kind == .failed)
    }

    @Test func redirectsInACircleEnd() {
        var (session, _) = posted()
        for _ in 0..<5 { session.answered(response(307, ["Location": "/whip/endpoint"]), now: now) }
        #expect(requests(session.takeOutputs()).count == 5)
        session.answered(response(307, ["Location": "/whip/endpoint"]), now: now)
        #expect(
            session.takeOutputs().last
                == .ended(CallEnd(.failed, "https://whip.example.com:443/whip… redirects without end"))
        )
    }

    @Test(
        arguments: [
            (400, .failed), (401, .failed), (403, .failed), (404, .unavailable), (405, .unavailable), (406, .failed),
            (410, .unavailable), (415, .failed), (422, .failed), (200, .failed), (204, .failed), (301, .failed),
            (302, .failed), (303, .failed), (399, .failed), (402, .failed), (418, .failed), (499, .failed),
            (501, .unavailable), (505, .unavailable), (600, .failed),
        ] as [(Int, CallEnd.Kind)]
    )
    func statusesThatEndIt(status: Int, kind: CallEnd.Kind) {
        var (session, _) = posted()
        session.answered(response(status), now: now)
        let outputs = session.takeOutputs()
        guard case .ended(let end?)? = outputs.last else {
            Issue.record("it goes on: \(outputs)")
            return
        }
        #expect(outputs.first == .closePeer)
        #expect(end.kind == kind)
        #expect(end.description.contains("\(status)") && end.description.contains("whip.example.com"))
    }

    /// §4.4.
    @Test(
        arguments: [
            (503, "5", 5), (503, nil, 1), (503, "0", 1), (503, "100000", 60), (503, "x", 1), (500, nil, 1),
            (429, "3", 3), (409, nil, 1), (408, nil, 1), (425, nil, 1), (502, "7", 7), (504, nil, 1), (599, nil, 1),
            (503, "Sun, 06 Nov 1994 08:49:37 GMT", 37), (503, "Sun, 06 Nov 1994 08:48:00 GMT", 1),
            (503, "Tue, 06 Dec 1994 08:49:37 GMT", 60),
        ] as [(Int, String?, Int)]
    )
    func aBusyServerIsAskedAgain(status: Int, after: String?, seconds: Int) {
        var (session, _) = posted()
        var headers: HTTPHeaders = ["Date": "Sun, 06 Nov 1994 08:49:00 GMT"]
        if let after { headers.add(name: "Retry-After", value: after) }
        session.answered(response(status, headers), now: now)
        let outputs = session.takeOutputs()
        #expect(outputs.first == .closePeer)
        guard case .retrying(let why, .seconds(seconds))? = outputs.last else {
            Issue.record("\(outputs)")
            return
        }
        // Whose fault it is.
        let isFault = (500...599).contains(status) && status != 503
        #expect(why.contains(isFault ? "has failed (status" : "has no room now (status") && why.contains("\(status)"))
        #expect(session.nextDeadline == now + .seconds(seconds))
        session.tick(now: now + .seconds(seconds) - .nanoseconds(1))
        #expect(session.takeOutputs().isEmpty)
        session.tick(now: now + .seconds(seconds))
        #expect(session.takeOutputs() == [.offer])
        #expect(session.nextDeadline == nil)
    }

    @Test func aCallThatBreaksIsMadeAgain() {
        var (session, _) = posted()
        session.answered(response(201, Self.created, "v=0"), now: now)
        session.connected()
        _ = session.takeOutputs()
        var pauses: [Duration] = []
        session.peerEnded("is out of reach", isFinal: false, now: now)
        #expect(requests(session.takeOutputs()) == ["DELETE https://whip.example.com:443/session/id token"])
        var time = now
        for _ in 0..<6 {
            pauses.append(session.nextDeadline! - time)
            time = session.nextDeadline!
            session.tick(now: time)
            session.described("v=0")
            session.failed(.silent(Self.endpoint.origin), now: time)
        }
        // A server that is started again is there soon.
        #expect(pauses == Array(repeating: .seconds(1), count: 6))
        session.tick(now: session.nextDeadline!)
        session.described("v=0")
        session.answered(response(201, Self.created, "v=0"), now: time)
        session.connected()
        session.peerEnded("left", isFinal: false, now: time)
        #expect(session.nextDeadline == time + .seconds(1))
    }

    /// It has died, and perhaps come back, or says nothing for another reason.
    @Test func aSilentServerIsAsked() {
        let origin = Self.endpoint.origin
        for (result, isLost) in [
            (.success(response(404)), true), (.success(response(410)), true), (.success(response(200)), false),
            (.success(response(405)), false), (.failure(.refused(origin)), true),
            (.failure(.unreachable(origin, reason: "x")), false),
            (.failure(.silent(origin)), false),
        ] as [(Result<WebClient.Response, WebClientError>, Bool)] {
            var (session, _) = posted()
            session.silent()
            #expect(session.takeOutputs().isEmpty)
            session.answered(response(201, Self.created, "v=0"), now: now)
            _ = session.takeOutputs()
            session.silent()
            session.silent()
            #expect(
                requests(session.takeOutputs()) == ["OPTIONS https://whip.example.com:443/session/id token"]
            )
            session.heard()
            session.silent()
            #expect(requests(session.takeOutputs()).count == 1)
            session.probed(result, now: now)
            #expect(session.takeOutputs().contains(.closePeer) == isLost)
            #expect((session.nextDeadline != nil) == isLost)
            session.silent()
            #expect(requests(session.takeOutputs()).count == (isLost ? 0 : 1))
        }
    }

    @Test func aServerThatIsNotThereAtFirstEndsIt() {
        let origin = Self.endpoint.origin
        for (error, kind) in [
            (.silent(origin), .unavailable), (.unreachable(origin, reason: "x"), .unavailable),
            (.untrusted(origin), .failed),
            (.broken(origin, reason: "x"), .unavailable), (.tooLarge(origin), .unavailable),
        ] as [(WebClientError, CallEnd.Kind)] {
            var (session, _) = posted()
            session.failed(error, now: now)
            #expect(session.takeOutputs().last == .ended(CallEnd(kind, "\(error)")))
        }
    }

    /// As some servers answer: the call goes on, and nothing is asked of the session any more.
    @Test(arguments: [[:], ["Location": "g:h"], ["ETag": "\"x\""]] as [HTTPHeaders])
    func withoutALocationTheCallGoesOn(headers: HTTPHeaders) {
        var (session, _) = posted()
        session.answered(response(201, headers, "v=0"), now: now)
        var outputs = session.takeOutputs()
        guard outputs.count == 2, outputs[0] == .accept(sdp: "v=0"), case .unusable(let why) = outputs[1] else {
            Issue.record("\(outputs)")
            return
        }
        let flaw = headers.contains(name: "location") ? "on another server" : "does not say where the session is"
        #expect(why.contains(flaw))
        session.connected()
        session.gathered("a=candidate")
        session.silent()
        session.slept(for: .seconds(100), now: now)
        session.proposed("a=ice-ufrag")
        session.changed(.success(response(204)), now: now)
        #expect(session.takeOutputs().isEmpty)
        session.peerEnded("is out of reach", isFinal: false, now: now)
        outputs = session.takeOutputs()
        #expect(requests(outputs).isEmpty && session.nextDeadline == now + .seconds(1))
        session.tick(now: now + .seconds(1))
        session.described("v=0")
        session.answered(response(201, headers, "v=0"), now: now)
        _ = session.takeOutputs()
        session.leave()
        #expect(session.takeOutputs() == [.closePeer, .ended(nil)])
    }

    /// What a server says of an error is quoted, without what would command a terminal, and no more than a few words.
    @Test(arguments: [
        ("text/plain", "line 3\r\nis none", ": line 3"), ("text/html", "<h1>no</h1>", ""),
        ("application/problem+json", #"{"title":"No room","detail":"5 of 5","status":400}"#, ": No room: 5 of 5"),
        ("application/problem+json; charset=utf-8", #"{"detail":"a\u001b[31m\nb","title":7}"#, ": a[31m"),
        ("application/problem+json", #"{"title":"same","detail":"same"}"#, ": same"),
        ("application/problem+json", #"{"title":"","type":"https://h/x"}"#, ""),
        ("application/problem+json", "[]", ""), ("application/problem+json", #"{"title":"#, ""),
        (
            "application/problem+json", #"{"title":""# + String(repeating: "x", count: 999) + #""}"#,
            ": " + String(repeating: "x", count: 200)
        ),
        ("application/problem+json", #"{"title":""# + String(repeating: "x", count: 20_000) + #""}"#, ""),
    ])
    func theServersWordsAreQuoted(type: String, body: String, words: String) {
        let answer = response(400, ["Content-Type": type], body)
        #expect(answer.reason(hiding: []) == words)
        var (session, _) = posted()
        session.answered(answer, now: now)
        guard case .ended(let end?)? = session.takeOutputs().last else {
            Issue.record("it goes on")
            return
        }
        #expect(end.description.hasSuffix("does not take the offer\(words) (status 400)"))
    }

    @Test(arguments: [401, 404, 429, 500, 503]) func eachRefusalQuotesTheServer(status: Int) {
        let problem: HTTPHeaders = ["Content-Type": "application/problem+json"]
        var (session, _) = posted()
        session.answered(response(status, problem, #"{"title":"out of tea"}"#), now: now)
        switch session.takeOutputs().last {
        case .ended(let end?): #expect("\(end)".contains(": out of tea (status \(status))"))
        case .retrying(let why, _): #expect(why.contains(": out of tea (status \(status))"))
        case let other: Issue.record("\(String(describing: other))")
        }
    }

    /// An answer without text, or of no use; a second answer.
    @Test func badAnswersEndIt() {
        var (silent, _) = posted()
        silent.answered(response(201, Self.created, ""), now: now)
        if case .ended(_?)? = silent.takeOutputs().last {} else { Issue.record("it goes on") }
        var (session, _) = posted()
        session.answered(response(201, Self.created, "v=0"), now: now)
        session.answered(response(201, Self.created, "v=0"), now: now)
        #expect(session.takeOutputs() == [.accept(sdp: "v=0")])
        session.peerEnded("has sent an answer that is of no use", isFinal: true, now: now)
        let outputs = session.takeOutputs()
        #expect(requests(outputs).count == 1)
        #expect(
            outputs.last == .ended(CallEnd(.failed, "\(Self.endpoint.origin) has sent an answer that is of no use"))
        )
    }

    /// A fault of the server is told as such, and asked about at longer and longer intervals.
    @Test func aServerThatFailsIsAskedLessOften() {
        var (session, _) = posted()
        var (time, pauses) = (now, [Duration]())
        for _ in 0..<6 {
            session.answered(
                response(500, ["Content-Type": "text/plain; charset=utf-8"], "no disk\u{1B}\nx"),
                now: time
            )
            guard case .retrying(let why, let pause)? = session.takeOutputs().last else {
                Issue.record("it ends")
                return
            }
            #expect(why.contains("has failed: no disk (status 500)"))
            pauses.append(pause)
            time += pause
            session.tick(now: time)
            session.described("v=0")
            _ = session.takeOutputs()
        }
        #expect(pauses == [1, 2, 4, 8, 8, 8].map { .seconds($0) })
    }

    /// The sentence, where that says what to do.
    private func end(_ session: inout WHIPSession, by status: Int) -> String {
        session.answered(response(status), now: now)
        guard case .ended(let end?)? = session.takeOutputs().last else { return "it goes on" }
        return end.description
    }

    @Test func whoRefusesATokenIsNamed() {
        var (session, _) = posted(hasToken: false)
        #expect(end(&session, by: 401).contains("wants a token: give it with --whip-token-file FILE (status 401)"))
        (session, _) = posted()
        #expect(end(&session, by: 401).contains("refuses the token (status 401)"))
        // It was not asked: nobody sent it there.
        (session, _) = posted()
        session.answered(response(307, ["Location": "https://other.example/secret/key?k=v"]), now: now)
        _ = session.takeOutputs()
        let words = end(&session, by: 401)
        #expect(words.contains("redirects to https://other.example:443/secr…, which wants a token (status 401)"))
        #expect(words.contains("not for there") && !words.contains("refuses"))
    }

    @Test func noSentenceHasTheWholeAddress() {
        let secret = WebURL(parsing: "https://h.example/0123456789abcdef/publish?token=fedcba9876543210")!
        for status in [200, 300, 307, 400, 401, 403, 404, 503, 500] {
            var session = WHIPSession(secret, hasToken: true)
            session.start()
            session.described("v=0")
            _ = session.takeOutputs()
            // A server may say what it was asked for.
            let body = "no stream 0123456789abcdef/publish for fedcba9876543210"
            session.answered(response(status, ["Content-Type": "text/plain"], body), now: now)
            for output in session.takeOutputs() {
                if case .ended(let end?) = output {
                    #expect(!"\(end)".contains("456789") && !"\(end)".contains("token=") && !"\(end)".contains("fedc"))
                }
                if case .retrying(let why, _) = output {
                    #expect(!why.contains("456789") && !why.contains("token=") && !why.contains("fedc"))
                }
            }
        }
    }

    /// A token is good for an hour, and renewed a little late: a call of three hours, which breaks now and then.
    @Test func aTokenIsRenewedWhileACallLasts() throws {
        var session = WHIPSession(Self.endpoint, hasToken: true)
        var time = now
        func hour(at time: Instant) -> Int { Int((time - now).seconds) / 3600 }
        // What the server takes, and what stands in the file, which is renewed 20 s later.
        func isTaken(at time: Instant) -> Bool { hour(at: time) == hour(at: time - .seconds(20)) }
        var (posts, refusals, ends) = (0, 0, 0)
        session.start()
        /// Does what a server and a file would do, until the offer was taken.
        func publish() throws {
            while true {
                var isOver = false
                for output in session.takeOutputs() {
                    switch output {
                    case .offer: session.described("v=0")
                    case .request(let request):
                        #expect(request.isAuthorized)
                        posts += 1
                        let isGood = posts == 1 || isTaken(at: time)
                        if !isGood { refusals += 1 }
                        session.answered(isGood ? response(201, Self.created, "v=0") : response(401), now: time)
                    case .accept: isOver = true
                    case .ended: ends += 1
                    default: break
                    }
                }
                if isOver || ends > 0 { return }
                guard let deadline = session.nextDeadline else { continue }
                time = deadline
                session.tick(now: time)
            }
        }
        try publish()
        session.connected()
        // Just after each hour, and in the middle of it.
        for minutes in stride(from: 60, through: 180, by: 30) {
            time = now + .seconds(minutes * 60 + 1)
            session.peerEnded("is out of reach", isFinal: false, now: time)
            try publish()
            session.connected()
            #expect(ends == 0, "after \(minutes) minutes")
        }
        #expect(posts == 6 + refusals && refusals > 5)
        session.leave()
        #expect(session.takeOutputs().contains(.ended(nil)))
    }

    @Test func aTokenThatNobodyRenewsEndsIt() {
        var (session, _) = posted()
        session.answered(response(201, Self.created, "v=0"), now: now)
        session.peerEnded("is out of reach", isFinal: false, now: now)
        _ = session.takeOutputs()
        var time = now
        while let deadline = session.nextDeadline {
            time = deadline
            session.tick(now: time)
            session.described("v=0")
            session.answered(response(401), now: time)
        }
        #expect(time >= now + .seconds(60) && time <= now + .seconds(75))
        guard case .ended(let end?)? = session.takeOutputs().last else {
            Issue.record("it goes on")
            return
        }
        #expect(end.kind == .failed && end.description.contains("which it took before (status 401): renew the token"))
    }

    /// Whatever comes, in any order: it ends once, and makes no request after that.
    @Test(arguments: 0..<300) func anyOrderOfEventsEndsOnce(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var session = WHIPSession(Self.endpoint, hasToken: false)
        session.start()
        var (time, ends) = (now, 0)
        for _ in 0..<100 {
            time += .milliseconds(Int.random(in: 0...3000, using: &random))
            switch Int.random(in: 0..<13, using: &random) {
            case 9: session.gathered("a=candidate")
            case 10: session.proposed(Bool.random(using: &random) ? "a=ice-ufrag" : nil)
            case 11:
                let status = [200, 204, 404, 405, 412, 422, 428, 500].randomElement(using: &random)!
                session.changed(.success(response(status, ["ETag": "\"\(status)\""])), now: time)
            case 12: session.changed(.failure(.silent(Self.endpoint.origin)), now: time)
            case 0: session.described("v=0")
            case 1:
                session.answered(
                    response([201, 307, 400, 503].randomElement(using: &random)!, Self.created, "v=0"),
                    now: time
                )
            case 2: session.failed(.silent(Self.endpoint.origin), now: time)
            case 3: session.connected()
            case 6: session.silent()
            case 7: session.probed(.success(response(404)), now: time)
            case 4: session.peerEnded("left", isFinal: Bool.random(using: &random), now: time)
            case 5 where Int.random(in: 0..<10, using: &random) == 0: session.leave()
            default: session.tick(now: time)
            }
            let outputs = session.takeOutputs()
            if ends > 0 { #expect(outputs.isEmpty) }
            for (index, output) in outputs.enumerated() {
                if case .ended = output {
                    ends += 1
                    #expect(index == outputs.count - 1)
                }
            }
        }
        #expect(ends <= 1)
    }
}
