import Calls
import Control
import Glibc
import ICE
import Media
import Peers
import Posix
import RTP
import TestSupport
import Testing
import WebRTC

@Suite struct WHEPTests {
    private let web: WebFixture

    init() throws { web = try WebFixture() }

    @Test func anOfferIsAnswered() throws {
        let (response, session, tag) = try web.join()
        #expect(response.status == 201)
        #expect(response["content-type"] == "application/sdp")
        #expect(response["accept-patch"] == "application/trickle-ice-sdpfrag")
        #expect(response.all("link") == WebFixture.links)
        #expect(response["cache-control"] == "no-store")
        #expect(response["x-content-type-options"] == "nosniff")
        #expect(response["location"]?.hasPrefix("whep/") == true, "relative, for proxies that add a path")
        #expect(session.hasPrefix("/whep/"))
        #expect(session.utf8.count == 6 + 32)
        let answer = try SessionDescription(parsing: response.text)
        #expect(answer.media.map(\.port) == [9])
        let attributes = try #require(answer.media.first).attributes
        let candidates = attributes.filter { $0.name == "candidate" }.compactMap { Candidate(parsing: $0.value ?? "") }
        #expect(candidates.map(\.address).contains("127.0.0.1"))
        let fragment = try #require(attributes.first { $0.name == "ice-ufrag" }?.value)
        #expect(tag == "\"\(fragment)\"")
        let fingerprint = attributes.first { $0.name == "fingerprint" }?.value
        #expect(Fingerprint(parsing: fingerprint ?? "")?.hash == .sha256)
    }

    /// A page that is turned away comes again every few seconds, and is told of once.
    @Test func whoFindsNoPlaceIsToldOf() throws {
        for _ in 0..<2 { #expect(try web.join().response.status == 201) }
        for _ in 0..<3 {
            let (response, _, _) = try web.join()
            #expect(response.status == 503 && response["oriel-reason"] == "busy")
        }
        let told = web.log.all.filter { $0.contains("turned away") }
        #expect(
            told == [
                "somebody from 127.0.0.1 was turned away: there are 2 viewers already, and no more are let in: try again later"
            ]
        )
    }

    @Test func sessionsHaveNamesOfTheirOwn() throws {
        let (first, second) = (try web.join(), try web.join())
        #expect(first.session != second.session)
        #expect(first.tag != second.tag)
        #expect(try web.request("DELETE", first.session).status == 200)
        #expect(try web.request("DELETE", first.session).status == 404)
        #expect(try web.request("DELETE", second.session).status == 200)
        #expect(try web.request("DELETE", "/whep/").status == 404)
    }

    /// What the page's panel shows.
    @Test func theWayToAViewerIsTold() throws {
        let (_, session, _) = try web.join()
        var work = SenderSnapshot.Work()
        (work.quantizer, work.limit) = (12, .link)
        web.status.note(work)
        let path = "/api/viewers/" + session.dropFirst("/whep/".count)
        let report = try web.request("GET", path)
        #expect(report.status == 200)
        #expect(report["content-type"] == "application/json")
        let pattern =
            #/{"limit":"link","quantizer":12,"queue_ms":0,"rendition":1,"talk":"off"(,"target_bps":1000000)?}\s/#
        #expect(try pattern.wholeMatch(in: report.text) != nil, "\(report.text)")
        #expect(try web.connect().request("GET", path).status == 401)
        for other in ["/api/viewers/", "/api/viewers/0123", path + "0"] {
            #expect(try web.request("GET", other).status == 404, "\(other)")
        }
        #expect(try web.request("POST", path).status == 405)
        #expect(try web.request("DELETE", session).status == 200)
        #expect(try web.request("GET", path).status == 404)
    }

    @Test func candidatesMayComeLater() throws {
        let (_, session, tag) = try web.join()
        let candidate = "m=video 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\na=candidate:1 1 udp 5 127.0.0.1 9 typ host\r\n"
        for (condition, body) in [
            (tag, candidate), (tag, WebFixture.credentials + candidate), ("*", candidate), (tag, ""),
        ] {
            let fields = [WebFixture.fragment, "If-Match: \(condition)"]
            let response = try web.request("PATCH", session, fields, body: body)
            #expect(response.status == 204)
            #expect(response["content-length"] == nil)
        }
    }

    /// A page that asks for candidates later waits for no STUN server, and learns when there are no more.
    @Test func aPageIsAnsweredBeforeAllIsGathered() throws {
        let nobody = try UDPSocket(family: AF_INET)
        let web = try WebFixture(iceServers: [.stun(address: "127.0.0.1", port: try nobody.localAddress().port)])
        let response = try web.request("POST", "/whep", [WebFixture.sdp, "Oriel-Trickle: 1"], body: WebFixture.offer)
        #expect(response.status == 201)
        #expect(response.text.contains("typ host") && !response.text.contains("end-of-candidates"))
        let fields = [WebFixture.fragment, "If-Match: \(response["etag"] ?? "")"]
        let session = "/\(response["location"] ?? "")"
        let candidate = "m=video 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\na=candidate:1 1 udp 5 127.0.0.1 9 typ host\r\n"
        var further = try web.request("PATCH", session, fields, body: candidate)
        // Unless this machine is that slow, the server's time is not up.
        if further.status == 204 {
            further = try web.request("PATCH", session, fields, body: WebFixture.credentials)
        }
        #expect(further.status == 200 && further["content-type"] == "application/trickle-ice-sdpfrag")
        let fragment = try TrickleFragment(parsing: further.text, mids: ["0"])
        #expect(fragment.isLast && fragment.candidates.isEmpty)
        #expect(try web.request("PATCH", session, fields, body: WebFixture.credentials).status == 204, "that is all")
    }

    /// Nothing is let in that could only wait in vain, and its place is free again.
    @Test(arguments: [[], ["Oriel-Trickle: 1"]]) func withoutARelayNobodyIsLetInWhereMediaGoesByRelaysAlone(
        fields: [String]
    ) throws {
        let web = try WebFixture(viewerLimit: 1, isRelayOnly: true)
        for _ in 0..<2 {
            let response = try web.request("POST", "/whep", [WebFixture.sdp] + fields, body: WebFixture.offer)
            #expect(response.status == 503 && response["oriel-reason"] == "no_relay")
            #expect(response["retry-after"] == "5" && response["location"] == nil)
            try wait(until: "it is gone") { web.peers.statuses.isEmpty }
        }
        let told = "was turned away: media goes by TURN servers alone here, and none of them works: try again later"
        try wait(until: "it is told once: \(web.log.all)") { web.log.all == ["somebody from 127.0.0.1 \(told)"] }
    }

    /// Some players show the token only where they join.
    @Test func theNameOfASessionIsEnoughToChangeAndEndIt() throws {
        let (_, session, tag) = try web.join()
        let fields = [WebFixture.fragment, "If-Match: \(tag)"]
        func status(_ method: String, _ path: String, _ more: [String] = []) throws -> Int {
            try web.connect().request(method, path, fields + more, body: WebFixture.credentials).status
        }
        #expect(try status("PATCH", session) == 204)
        #expect(try status("PATCH", session, ["Authorization: Bearer guess"]) == 401)
        for path in ["/whep/", "/whep/0123", session + "0", String(session.dropLast())] {
            for method in ["PATCH", "DELETE"] { #expect(try status(method, path) == 401, "\(method) \(path)") }
        }
        #expect(try status("GET", session) == 401)
        #expect(try status("DELETE", session) == 200)
        #expect(try web.request("DELETE", session).status == 404)
        #expect(try status("DELETE", session) == 401, "it is gone, and so is what its name allowed")
    }

    /// Some players trickle without `If-Match`; the credentials tell for which generation.
    @Test func candidatesWithTheCredentialsInUseNeedNoCondition() throws {
        let (_, session, _) = try web.join()
        let candidate = "m=audio 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\na=candidate:1 1 udp 5 127.0.0.1 9 typ host\r\n"
        func status(_ body: String) throws -> Int {
            try web.request("PATCH", session, [WebFixture.fragment], body: body).status
        }
        #expect(try status(WebFixture.credentials + candidate) == 204)
        #expect(try status(candidate) == 428)
        #expect(try status("a=ice-ufrag:ysXw\r\na=ice-pwd:vw5LmwG4y/e6dPP/zAP9Gp5k\r\n") == 428)
    }

    @Test func changesThatCannotBeMadeAreRefused() throws {
        let (_, session, tag) = try web.join()
        func status(_ path: String, _ fields: [String], _ body: String = "") throws -> Int {
            try web.request("PATCH", path, fields, body: body).status
        }
        let matching = "If-Match: \(tag)"
        #expect(try status(session, [WebFixture.fragment]) == 428)
        #expect(try status(session, [WebFixture.sdp, matching]) == 415)
        #expect(try status(session, [matching]) == 415)
        #expect(try status(session, [WebFixture.fragment, "If-Match: \"other\""]) == 412)
        #expect(try status(session, [WebFixture.fragment, matching], "nonsense") == 400)
        #expect(try status(session + "0", [WebFixture.fragment, matching]) == 404)
        let refused = try web.request("GET", session)
        #expect(refused.status == 405)
        #expect(refused["allow"] == "PATCH, DELETE, OPTIONS")
    }

    @Test func aRestartBeginsANewGeneration() throws {
        let (_, session, tag) = try web.join()
        let other = "a=ice-ufrag:ysXw\r\na=ice-pwd:vw5LmwG4y/e6dPP/zAP9Gp5k\r\n"
        func change(_ condition: String, _ body: String) throws -> ReceivedResponse {
            try web.request("PATCH", session, [WebFixture.fragment, "If-Match: \(condition)"], body: body)
        }
        #expect(try change(tag, other).status == 412, "not without asking for any generation")
        let restarted = try change("\"*\"", other)
        #expect(restarted.status == 200)
        let fragment = try TrickleFragment(parsing: restarted.text, mids: ["0"])
        let credentials = try #require(fragment.credentials)
        #expect(restarted["etag"] == "\"\(credentials.fragment)\"")
        #expect(restarted["etag"] != tag)
        #expect(!fragment.candidates.isEmpty)
        // From now on the new credentials are those in use.
        let now = try #require(restarted["etag"])
        let candidate = "m=video 9 x 0\r\na=mid:0\r\na=candidate:1 1 udp 5 127.0.0.1 9 typ host\r\n"
        #expect(try change(now, other + candidate).status == 204)
        #expect(try change(tag, other + candidate).status == 412)
        #expect(try change(now, WebFixture.credentials + candidate).status == 412)
        #expect(try change("*", other + candidate).status == 204, "no restart for the credentials in use")
    }

    /// Each restart let so many addresses be tried anew, without end.
    @Test func restartsAreLimited() throws {
        let (_, session, _) = try web.join()
        let client = try web.connect()
        func restart(_ number: Int) throws -> ReceivedResponse {
            let fields = [WebFixture.authorization, WebFixture.fragment, "If-Match: *"]
            let body = "a=ice-ufrag:u\(1000 + number)\r\na=ice-pwd:vw5LmwG4y/e6dPP/zAP9Gp5k\r\n"
            return try client.request("PATCH", session, fields, body: body)
        }
        var refused: ReceivedResponse?
        for number in 0..<2000 where refused == nil {
            let response = try restart(number)
            if response.status != 200 { refused = response }
        }
        #expect(refused?.status == 429)
        #expect(refused?["retry-after"] == "5")
        #expect(web.peers.statuses.count == 1, "the session goes on")
    }

    @Test func offersThatCannotBeServedAreRefused() throws {
        func response(_ body: String, _ fields: [String] = [WebFixture.sdp]) throws -> ReceivedResponse {
            try web.request("POST", "/whep", fields, body: body)
        }
        let offer = WebFixture.offer
        let malformed = try response("v=0\r\nrubbish")
        #expect(malformed.status == 400)
        #expect(malformed.text == "line 2 of the session description is not a letter and an equals sign\n")
        #expect(malformed["content-type"] == "text/plain; charset=utf-8")
        #expect(try response("").status == 400)
        #expect(try response(offer.replacing("VP8", with: "H264")).status == 406)
        #expect(try response(offer.replacing("recvonly", with: "sendonly")).status == 422)
        #expect(try response(offer.replacing("rtcp-mux", with: "x")).status == 422)
        let untyped = try response(offer, [])
        #expect(untyped.status == 415)
        #expect(untyped["accept-post"] == "application/sdp")
        #expect(try response(offer, ["Content-Type: text/plain"]).status == 415)
        #expect(try response(offer, [WebFixture.sdp, "Accept: text/html"]).status == 406)
        #expect(try response(offer, [WebFixture.sdp, "Accept: application/sdp;q=0"]).status == 406)
        #expect(try response(offer, [WebFixture.sdp, "Accept: text/html, */*;q=0.5"]).status == 201)
        #expect(try response(offer, ["content-type: Application/SDP; charset=utf-8"]).status == 201)
    }

    @Test func noMoreAreLetInThanMayBe() throws {
        let first = try web.join()
        _ = try web.join()
        let refused = try web.join().response
        #expect(refused.status == 503)
        #expect(refused["retry-after"] == "5")
        #expect(refused["oriel-reason"] == "busy")
        #expect(try web.request("DELETE", first.session).status == 200)
        #expect(try web.join().response.status == 201)
    }

    /// While its answer waits for a STUN server that says nothing.
    @Test func whoIsKickedBeforeTheAnswerIsToldSo() throws {
        let web = try WebFixture(iceServers: [.stun(address: "127.0.0.1", port: 9)])
        let client = try web.connect()
        let fields = ["POST /whep HTTP/1.1", "Host: x", WebFixture.authorization, WebFixture.sdp]
        let length = "Content-Length: \(WebFixture.offer.utf8.count)"
        client.send((fields + [length, "", WebFixture.offer]).joined(separator: "\r\n"))
        try wait(until: "the viewer is known") { !web.peers.statuses.isEmpty }
        web.kick(1)
        let response = try client.response()
        #expect(response.status == 403)
        #expect(response["oriel-reason"] == "kicked")
        #expect(response["retry-after"] == nil)
        #expect(web.network.participants[1] == nil && web.peers.statuses.isEmpty)
    }

    /// A page may be open in several windows of one browser.
    @Test func allSessionsOfOneKeyAreKicked() throws {
        let web = try WebFixture(viewerLimit: 5)
        func join(_ key: String?) throws -> String {
            let fields = [WebFixture.sdp] + (key.map { ["Oriel-Viewer: \($0)"] } ?? [])
            let response = try web.request("POST", "/whep", fields, body: WebFixture.offer)
            return "/\(try #require(response["location"]))"
        }
        let sessions = try ["0123456789abcdef", "0123456789abcdef", "fedcba9876543210", nil, nil].map(join)
        web.kick(1)
        let statuses = try sessions.map { try web.request("DELETE", $0).status }
        #expect(statuses == [403, 403, 200, 200, 200])
    }

    @Test func whereNothingIsBroadcastNobodyIsLetIn() throws {
        web.status.note(.stopped)
        let stopped = try web.join().response
        #expect(stopped.status == 409)
        #expect(stopped["retry-after"] == "4")
        web.status.note(.paused)
        #expect(try web.join().response.status == 201)
        web.peers.close()
        let closed = try web.join().response
        #expect(closed.status == 503)
        #expect(closed["oriel-reason"] == nil)
    }
}
