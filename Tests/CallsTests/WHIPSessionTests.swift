import HTTP
import NIOHTTP1
import TestSupport
import Testing
import Time

@testable import Calls

/// The states of a publisher, with the messages of RFC 9725.
@Suite struct WHIPSessionTests {
    private static let endpoint = WebURL(parsing: "https://whip.example.com/whip/endpoint")!
    private let now = Instant.seconds(1000)

    /// A session that has posted its offer.
    private func posted(token: String? = "dfTdfs") -> (WHIPSession, [WHIPSession.Output]) {
        var session = WHIPSession(Self.endpoint, token: token)
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
            case .request(let request), .farewell(let request), .probe(let request):
                "\(request.method) \(request.url) \(request.headers.first(name: "authorization") ?? "-")"
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
        #expect(post.headers.first(name: "authorization") == "Bearer dfTdfs")
        session.answered(response(201, Self.created, "v=0 answer"), now: now)
        #expect(session.takeOutputs() == [.accept(sdp: "v=0 answer")])
        session.connected()
        session.leave()
        outputs = session.takeOutputs()
        #expect(requests(outputs) == ["DELETE https://whip.example.com:443/session/id Bearer dfTdfs"])
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

    @Test func theTokenFollowsAHostToTLS() {
        let endpoint = WebURL(parsing: "http://whip.example.com/x")!
        var session = WHIPSession(endpoint, token: "secret")
        session.start()
        session.described("v=0")
        _ = session.takeOutputs()
        session.answered(response(308, ["Location": "https://whip.example.com/x"]), now: now)
        #expect(requests(session.takeOutputs()) == ["POST https://whip.example.com:443/x Bearer secret"])
    }

    /// Whatever the server makes of an offer that is on its way does not stay behind.
    @Test func whoLeavesWhileTheOfferIsOnItsWayDeletesTheSession() {
        var (session, _) = posted()
        session.leave()
        #expect(session.takeOutputs().isEmpty)
        session.answered(response(201, Self.created, "v=0"), now: now)
        var outputs = session.takeOutputs()
        #expect(requests(outputs) == ["DELETE https://whip.example.com:443/session/id Bearer dfTdfs"])
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
        #expect(session.takeOutputs().last == .ended(CallEnd(.failed, "\(Self.endpoint) redirects without end")))
    }

    @Test(
        arguments: [
            (400, .failed), (401, .failed), (403, .failed), (404, .unavailable), (405, .unavailable), (406, .failed),
            (410, .unavailable), (415, .failed), (422, .failed), (200, .failed), (204, .failed), (301, .failed),
            (418, .failed),
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
            (429, "3", 3), (409, nil, 1),
        ] as [(Int, String?, Int)]
    )
    func aBusyServerIsAskedAgain(status: Int, after: String?, seconds: Int) {
        var (session, _) = posted()
        session.answered(response(status, after.map { ["Retry-After": $0] } ?? [:]), now: now)
        let outputs = session.takeOutputs()
        #expect(outputs.first == .closePeer)
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
        #expect(requests(session.takeOutputs()) == ["DELETE https://whip.example.com:443/session/id Bearer dfTdfs"])
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
                requests(session.takeOutputs()) == ["OPTIONS https://whip.example.com:443/session/id Bearer dfTdfs"]
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

    /// An answer without a session, without text, or of no use; a second answer.
    @Test func badAnswersEndIt() {
        for (headers, body) in [([:], "v=0"), (["Location": "g:h"], "v=0"), (Self.created, "")]
            as [(HTTPHeaders, String)]
        {
            var (session, _) = posted()
            session.answered(response(201, headers, body), now: now)
            guard case .ended(_?)? = session.takeOutputs().last else {
                Issue.record("it goes on")
                continue
            }
        }
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

    /// Whatever comes, in any order: it ends once, and makes no request after that.
    @Test(arguments: 0..<300) func anyOrderOfEventsEndsOnce(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var session = WHIPSession(Self.endpoint, token: nil)
        session.start()
        var (time, ends) = (now, 0)
        for _ in 0..<100 {
            time += .milliseconds(Int.random(in: 0...3000, using: &random))
            switch Int.random(in: 0..<9, using: &random) {
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
