import Access
import Media
import Posix
import Synchronization
import TestSupport
import Testing
import Time
import WebRTC

@testable import Calls

/// Hears nobody.
final class DeafReceiver: SoundReceiver {
    func receive(_ packet: ReceivedSound, from id: ParticipantID) {}
}

/// What viewers may say, by HTTP.
@Suite struct TalkRequestTests {
    private let web: WebFixture

    init() throws { web = try WebFixture(talk: .ask) }

    private func change(_ body: (inout AccessEngine, Instant) -> Void) { web.access.change(body) }

    private func state(of session: String) throws -> String? {
        let report = try web.request("GET", "/api/viewers/" + session.dropFirst("/whep/".count))
        return try #/"talk":"([a-z]+)"/#.firstMatch(in: report.text).map { String($0.1) }
    }

    /// By the secret that its browser keeps.
    @Test func aViewerWhoMaySpeakIsKnownAgain() throws {
        let web = try WebFixture(viewerLimit: 3, talk: .ask)
        let known = [WebFixture.sdp, "Oriel-Viewer: 0123456789abcdef"]
        let sessions = try [[WebFixture.sdp], known, known].map { fields in
            "/" + (try web.request("POST", "/whep", fields, body: WebFixture.talkingOffer)["location"] ?? "")
        }
        web.access.change { engine, now in _ = engine.revokeTalk(2, at: now) }
        #expect(try sessions.map { try web.request("POST", $0 + "/talk").status } == [202, 403, 403])
    }

    @Test func aViewerAsksAndIsAnswered() throws {
        let (response, session, _) = try web.join(by: WebFixture.talkingOffer)
        #expect(response.status == 201)
        #expect(response.text.contains("a=sendrecv\r\n"))
        #expect(try state(of: session) == "none")
        let asked = try web.request("POST", session + "/talk")
        #expect(asked.status == 202)
        #expect(asked["content-type"] == "application/json")
        #expect(asked.text == "{\"talk\":\"asked\"}\n")
        #expect(try state(of: session) == "asked")
        change { engine, _ in _ = engine.grantTalk(1) }
        let granted = try web.request("POST", session + "/talk")
        #expect(granted.status == 200)
        #expect(granted.text == "{\"talk\":\"granted\"}\n")
        change { engine, now in
            _ = engine.hears(1, level: nil, isQuiet: false, at: now)
            engine.noteLoud(1, at: now)
        }
        #expect(try state(of: session) == "speaking")
        let withdrawn = try web.request("DELETE", session + "/talk")
        #expect(withdrawn.status == 200)
        #expect(withdrawn.text == "{\"talk\":\"granted\"}\n", "it is kept for later")
        #expect(try state(of: session) == "granted")
    }

    /// The name of the session is enough, as for what else its viewer does.
    @Test func whoKnowsTheSessionMayAsk() throws {
        let (_, session, _) = try web.join(by: WebFixture.talkingOffer)
        func status(_ method: String, _ path: String, _ fields: [String] = []) throws -> Int {
            try web.connect().request(method, path, fields).status
        }
        #expect(try status("POST", session + "/talk") == 202)
        #expect(try status("DELETE", session + "/talk") == 200)
        #expect(try status("POST", "/whep/0123/talk") == 401)
        #expect(try status("POST", "/whep/0123/talk", [WebFixture.authorization]) == 404)
        #expect(try status("POST", session + "/talk", ["Authorization: Bearer guess"]) == 401)
        let refused = try web.request("PATCH", session + "/talk")
        #expect(refused.status == 405)
        #expect(refused["allow"] == "POST, DELETE, OPTIONS")
        #expect(try web.request("DELETE", session).status == 200)
        #expect(try web.request("POST", session + "/talk").status == 404)
    }

    @Test func whoIsNotToSpeakIsTold() throws {
        let (_, session, _) = try web.join(by: WebFixture.talkingOffer)
        change { engine, now in _ = engine.revokeTalk(1, at: now) }
        let refused = try web.request("POST", session + "/talk")
        #expect(refused.status == 403)
        #expect(refused.text == "your request to speak was refused: ask again later\n")
        #expect(refused["oriel-reason"] == "talk_revoked")
        #expect(refused["retry-after"].flatMap { Int($0) }.map { 1...31 ~= $0 } ?? false)
        #expect(try state(of: session) == "none")
    }

    @Test func whoAsksTooOftenIsTold() throws {
        let (_, session, _) = try web.join(by: WebFixture.talkingOffer)
        // So late that no machine is too slow.
        change { engine, now in _ = engine.askToTalk(1, at: now + .seconds(600)) }
        #expect(try web.request("DELETE", session + "/talk").text == "{\"talk\":\"none\"}\n")
        let often = try web.request("POST", session + "/talk")
        #expect(often.status == 429)
        #expect(often["retry-after"].flatMap { Int($0) }.map { 500...606 ~= $0 } ?? false)
        #expect(try state(of: session) == "none")
    }

    @Test func whoSendsNoSoundCannotSpeak() throws {
        let (_, session, _) = try web.join()
        #expect(try web.request("POST", session + "/talk").status == 409)
        #expect(try state(of: session) == "off")
    }

    @Test func whereNobodyIsHeardThatIsSaid() throws {
        let web = try WebFixture()
        let (response, session, _) = try web.join(by: WebFixture.talkingOffer)
        #expect(response.text.contains("a=sendonly\r\n"))
        #expect(!response.text.contains("a=sendrecv\r\n"))
        let refused = try web.request("POST", session + "/talk")
        #expect(refused.status == 403)
        #expect(refused["oriel-reason"] == "talk_off")
        #expect(!web.status.json.contains("talk"))
    }

    /// Over all viewers of a network. How fast is a matter of `Gate`.
    @Test func wishesAreLimited() throws {
        let sessions = try (0..<2).map { _ in try web.join(by: WebFixture.talkingOffer).session }
        var (session, count, status) = ("", 0, 202)
        while status == 202, count < 1000 {
            session = sessions[count % 2]
            status = try web.request("POST", session + "/talk").status
            count += 1
        }
        #expect(status == 429 && count > 10)
        #expect(try web.request("DELETE", session + "/talk").status == 200, "nobody is kept from falling silent")
    }

    /// Pages look again when a number has changed.
    @Test func pagesAreToldOfChanges() throws {
        #expect(web.status.json == #"{"state":"active","talk":0,"viewers":0}"#)
        web.status.noteTalk()
        web.status.noteTalk()
        #expect(web.status.json == #"{"state":"active","talk":2,"viewers":0}"#)
    }
}
