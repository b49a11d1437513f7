import Access
import HTTP
import Media
import Peers
import Posix
import TestSupport
import Testing
import Time

@testable import Calls

/// Requests by links with rights of their own.
@Suite struct InviteRequestTests {
    /// Somebody with a link, and perhaps a browser that is recognized.
    private struct Guest {
        let web: WebFixture
        let token: String
        var browser: String?

        func request(
            _ method: String,
            _ path: String,
            _ fields: [String] = [],
            body: String? = nil
        ) throws -> ReceivedResponse {
            var all = ["Authorization: Bearer \(token)"] + fields
            if let browser { all.append("Oriel-Viewer: viewer-number-\(browser)") }
            return try web.connect().request(method, path, all, body: body)
        }

        func join(_ offer: String = WebFixture.talkingOffer) throws -> ReceivedResponse {
            try request("POST", "/whep", [WebFixture.sdp], body: offer)
        }
    }

    @discardableResult
    private func invite(
        _ web: WebFixture,
        _ token: String,
        _ rights: Rights = [.watch, .hear],
        isForOne: Bool = false
    ) throws -> Guest {
        var wish = InviteWish(token: InviteToken(token).hash)
        (wish.rights, wish.isForOne, wish.name) = (rights, isForOne, "Name of \(token)")
        let isMade = web.access.change { [wish] engine, now in (try? engine.invite(wish, at: now)) != nil }
        #expect(isMade)
        return Guest(web: web, token: token)
    }

    /// Ends the sessions of those who were invited, as a sender does.
    private func begin(_ web: WebFixture) {
        let participants = web.network.participants
        web.access.begin(
            AccessControl.Outlets(wake: {}, tell: { _ in }) { id, _, end in
                switch end {
                case .revoked: participants[id]?.kick?(.revoked)
                case .leaseExpired: participants[id]?.kick?(.leaseExpired)
                case .over: Issue.record("\(id) was no guest")
                }
            }
        )
    }

    /// The direction of the sound in an answer; nil if it was refused.
    private func sound(_ answer: ReceivedResponse) throws -> String? {
        try #require(answer.status == 201, "\(answer)")
        let section = try #require(answer.text.split(separator: "m=audio ", maxSplits: 1).last)
        if section.hasPrefix("0 ") { return nil }
        return ["sendrecv", "sendonly", "recvonly"].first { section.contains("a=\($0)") }
    }

    @Test(
        arguments: [
            (.watch, nil), ([.watch, .hear], "sendonly"), ([.watch, .talk], "recvonly"),
            ([.watch, .hear, .talk], "sendrecv"),
        ] as [(Rights, String?)]
    )
    func soundIsThatOfTheRights(rights: Rights, direction: String?) throws {
        let web = try WebFixture(talk: .ask)
        let answer = try invite(web, "link", rights).join()
        #expect(try sound(answer) == direction)
        let talk = try web.request("POST", "/\(answer["location"]!)/talk")
        // The link answers the question whether somebody may speak.
        #expect(talk.status == (rights.contains(.talk) ? 200 : 409), "\(talk)")
        #expect(try web.join(by: WebFixture.talkingOffer).response.text.contains("a=sendrecv"))
    }

    @Test func itOpensWhatTheLinkOpens() throws {
        let web = try WebFixture(viewersRecord: true)
        let guest = try invite(web, "link")
        #expect(try guest.request("GET", "/api/status").status == 200)
        #expect(try guest.request("GET", "/snapshot.png").body == WebFixture.png)
        let recorders = try guest.request("GET", "/api/recorders")
        #expect(recorders.status == 403 && recorders["oriel-reason"] == "right", "\(recorders)")
        #expect(try invite(web, "other", [.watch, .record]).request("GET", "/api/recorders").status == 200)
        let options = try guest.request("OPTIONS", "/whep")
        #expect(options["link"]?.contains("stun.example.net") ?? false)
    }

    @Test func whoIsInvitedNeedNotKnock() throws {
        var settings = AccessEngine.Settings()
        settings.asks = true
        let web = try WebFixture(access: AccessControl(settings, token: WebFixture.token))
        #expect(try web.request("GET", "/api/status").status == 403)
        let guest = try invite(web, "link")
        #expect(try guest.request("GET", "/api/status").status == 200)
        #expect(try guest.join().status == 201)
        let name = web.peers.statuses.first.flatMap { web.network.participants[$0.id]?.name }
        #expect(name == "Name of link")
    }

    @Test func whatIsTakenBackIsOverAtOnce() throws {
        let web = try WebFixture()
        begin(web)
        let (guest, other) = (try invite(web, "link"), try invite(web, "other"))
        let session = "/\(try guest.join()["location"]!)"
        let stays = "/\(try other.join()["location"]!)"
        let listener = try web.connect()
        #expect(try listener.request("GET", "/api/events", ["Authorization: Bearer link"]).status == 200)
        #expect(try listener.event().contains("active"))
        web.access.change { engine, now in _ = engine.revoke(at: now) { $0.name == "Name of link" } }
        try wait(until: "the viewer has gone") { web.peers.statuses.count == 1 }
        for path in ["/api/status", "/snapshot.png", "/api/events"] {
            let answer = try guest.request("GET", path)
            #expect(answer.status == 401 && answer["www-authenticate"] == "Bearer", "\(answer)")
        }
        #expect(try guest.join().status == 401)
        // The session's name alone tells its viewer the reason.
        let ended = try web.connect().request("DELETE", session)
        #expect(ended.status == 401 && ended["oriel-reason"] == "revoked", "\(ended)")
        web.status.note(.paused)
        #expect(!String(decoding: try listener.rest(), as: UTF8.self).contains("paused"))
        #expect(try other.request("GET", "/api/viewers/\(stays.dropFirst(6))").status == 200)
    }

    @Test func aLinkForOneIsThatOfTheFirst() throws {
        let web = try WebFixture(viewerLimit: 5)
        var (first, second) = (try invite(web, "link", isForOne: true), Guest(web: web, token: "link"))
        (first.browser, second.browser) = ("1000", "2000")
        // One who was not let in has not used it.
        #expect(try [400, 422].contains(second.join("v=0").status))
        #expect(try first.join().status == 201)
        #expect(try first.join().status == 201, "after a lost connection")
        for someone in [second, Guest(web: web, token: "link")] {
            for answer in [try someone.join(), try someone.request("GET", "/api/status")] {
                #expect(answer.status == 403 && answer["oriel-reason"] == "link_taken", "\(answer)")
            }
        }
        #expect(try first.request("GET", "/api/status").status == 200)
    }

    /// Wrong tokens of the same network change nothing for it.
    @Test func guessesDoNotMatter() throws {
        let web = try WebFixture()
        let guest = try invite(web, "link")
        let guesser = Guest(web: web, token: "lin")
        let answers = try (0..<30).map { _ in try guesser.request("GET", "/api/status").status }
        #expect(answers.contains(401) && answers.last == 429)
        #expect(try guest.request("GET", "/api/status").status == 200)
        // One that is longer than any is not even looked up.
        let long = Guest(web: web, token: String(repeating: "a", count: 4000))
        #expect([401, 429].contains(try long.request("GET", "/api/status").status))
    }

    /// Two hours without a request are its end. Each request begins them anew.
    @Test func requestsKeepASession() throws {
        let web = try WebFixture()
        begin(web)
        let session = "/\(try invite(web, "link").join()["location"]!)"
        for slept in [7000, 14_000, 21_000] {
            web.access.change { engine, _ in engine.noteSleep(.seconds(slept)) }
            _ = web.access.turn()
            #expect(web.peers.statuses.count == 1, "\(slept)")
            #expect(try web.request("GET", "/api/viewers/\(session.dropFirst(6))").status == 200)
        }
        web.access.change { engine, _ in engine.noteSleep(.seconds(28_201)) }
        _ = web.access.turn()
        try wait(until: "the viewer has gone") { web.places.isEmpty }
        #expect(try web.connect().request("DELETE", session).status == 410)
    }
}
