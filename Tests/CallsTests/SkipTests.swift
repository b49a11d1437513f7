import TestSupport
import Testing

@testable import Calls

/// Viewers have sound left out that has piled up in their buffers.
@Suite struct SkipTests {
    @Test func aViewerHasSoundLeftOut() throws {
        let web = try WebFixture()
        let (_, session, _) = try web.join(by: WebFixture.talkingOffer)
        for length in ["20", "240", "5000"] {
            #expect(try web.request("POST", session + "/skip", body: length).status == 204, "\(length)")
        }
        for length in ["", "19", "5001", "-240", "240.5", "many", String(repeating: "9", count: 40)] {
            let refused = try web.request("POST", session + "/skip", body: length)
            #expect(refused.status == 400, "\(length)")
            #expect(refused.text == "sound to leave out is a number of milliseconds, 20 to 5000\n")
        }
        let refused = try web.request("DELETE", session + "/skip")
        #expect(refused.status == 405)
        #expect(refused["allow"] == "POST, OPTIONS")
    }

    /// The name of the session is enough, as for what else its viewer does.
    @Test func whoKnowsTheSessionMaySkip() throws {
        let web = try WebFixture()
        let (_, session, _) = try web.join(by: WebFixture.talkingOffer)
        func status(_ path: String, _ fields: [String] = []) throws -> Int {
            try web.connect().request("POST", path, fields, body: "100").status
        }
        #expect(try status(session + "/skip") == 204)
        #expect(try status("/whep/0123/skip") == 401)
        #expect(try status("/whep/0123/skip", [WebFixture.authorization]) == 404)
        #expect(try web.request("DELETE", session).status == 200)
        #expect(try web.request("POST", session + "/skip", body: "100").status == 404)
    }
}
