import Access
import Media
import TestSupport
import Testing
import Time

@testable import Calls

/// How long a viewer may stay, and its requests for more time.
@Suite struct LeaseRequestTests {
    private static let json = "Content-Type: application/json"

    private func join(_ web: WebFixture, _ fields: String...) throws -> (response: ReceivedResponse, session: String) {
        let response = try web.request("POST", "/whep", [WebFixture.sdp] + fields, body: WebFixture.offer)
        return (response, "/\(response["location"] ?? "")")
    }

    private func extend(_ web: WebFixture, _ session: String, _ body: String) throws -> ReceivedResponse {
        try web.request("PUT", session + "/lease", [Self.json], body: body)
    }

    /// The seconds in a lease's document.
    private func seconds(_ response: ReceivedResponse) throws -> Int {
        let pattern = #/\{"expires_at":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z","seconds":(\d+)\}\n/#
        let match = try pattern.wholeMatch(in: response.text)
        return try #require(match.flatMap { Int($0.1) }, "\(response.text)")
    }

    @Test func aPlainPlayerHasNone() throws {
        let web = try WebFixture()
        let (response, session) = try join(web)
        #expect(response.status == 201)
        #expect(response["oriel-lease"] == nil && !(response["link"] ?? "").contains("lease"))
        for answer in [try web.request("GET", session + "/lease"), try extend(web, session, #"{"seconds":60}"#)] {
            #expect(answer.status == 409 && answer["oriel-reason"] == "no_lease", "\(answer)")
        }
        #expect(try !web.request("GET", "/api/viewers/\(session.dropFirst(6))").text.contains("lease_s"))
    }

    @Test func aViewerThatAsksMayStayLonger() throws {
        let web = try WebFixture()
        let (response, session) = try join(web, "Oriel-Lease: 60")
        #expect(response["oriel-lease"] == "60")
        #expect(response["link"]?.contains("<\(session.dropFirst())/lease>; rel=\"urn:oriel:lease\"") ?? false)
        #expect((50...60).contains(try seconds(web.request("GET", session + "/lease"))))
        // Players leave the token out there.
        let client = try web.connect()
        let extended = try client.request("PUT", session + "/lease", [Self.json], body: #"{"seconds":400}"#)
        #expect(extended.status == 200)
        #expect((390...400).contains(try seconds(extended)))
        #expect((390...400).contains(try seconds(extend(web, session, #"{"seconds":1}"#))))
        let report = try web.request("GET", "/api/viewers/\(session.dropFirst(6))").text
        let left = try #/"lease_s":(\d+)/#.firstMatch(in: report).flatMap { Int($0.1) }
        #expect(left.map { 390...400 ~= $0 } ?? false, "\(report)")
    }

    @Test func nobodyGetsMoreThanIsSet() throws {
        let web = try WebFixture(viewerLimit: 3, lease: 60)
        for fields in [[], ["Oriel-Lease: 3600"]] {
            let response = try web.request("POST", "/whep", [WebFixture.sdp] + fields, body: WebFixture.offer)
            #expect(response["oriel-lease"] == "60")
            #expect((50...60).contains(try seconds(extend(web, "/\(response["location"]!)", #"{"seconds":3600}"#))))
        }
        #expect(try join(web, "Oriel-Lease: 5").response["oriel-lease"] == "5")
    }

    @Test(arguments: ["0", "65536", "-1", "", "a", "1.5", "99999999999999999999", "١", "+300"])
    func aWishOutOfRangeIsRefused(
        wish: String
    )
        throws
    {
        let web = try WebFixture()
        let (response, _) = try join(web, "Oriel-Lease: \(wish)")
        #expect(response.status == 400 && response.text == "a lease has 1 to 65535 seconds\n", "\(response)")
        #expect(web.places.isEmpty)
    }

    @Test(arguments: [
        "", "{}", "[]", "300", #"{"seconds":0}"#, #"{"seconds":65536}"#, #"{"seconds":-1}"#, #"{"seconds":1.5}"#,
        #"{"seconds":"300"}"#, #"{"seconds":300,"more":1}"#, #"{"seconds":300,"seconds":400}"#, #"{"seconds":null}"#,
        #"{"seconds":300"#, String(repeating: "[", count: 5000),
    ]) func anExtensionThatMakesNoSenseChangesNothing(body: String) throws {
        let web = try WebFixture()
        let (_, session) = try join(web, "Oriel-Lease: 60")
        let response = try extend(web, session, body)
        #expect(response.status == 422 && response["oriel-reason"] == "field", "\(response)")
        #expect(response.text == "an extension is {\"seconds\": 1 to 65535}\n")
        #expect((50...60).contains(try seconds(web.request("GET", session + "/lease"))))
    }

    @Test func extensionsAreLimited() throws {
        let web = try WebFixture()
        let (_, session) = try join(web, "Oriel-Lease: 60")
        let client = try web.connect()
        let answers = try (0..<200).map { _ in
            try client.request("PUT", session + "/lease", [Self.json], body: #"{"seconds":60}"#)
        }
        let refused = answers.filter { $0.status == 429 }
        #expect(answers.allSatisfy { [200, 429].contains($0.status) })
        #expect(refused.count >= 100 && refused.allSatisfy { $0["retry-after"].flatMap { Int($0) } ?? 0 >= 1 })
        #expect(try extend(web, "/whep/0123456789abcdef0123456789abcdef", #"{"seconds":60}"#).status == 404)
        #expect(try web.request("POST", session + "/lease").status == 405)
    }

    /// Many viewers that forget to ask, all at once, and then ask all at once.
    @Test func whoForgetsIsToldWhy() throws {
        let web = try WebFixture(viewerLimit: 60, lease: 6000)
        let participants = web.network.participants
        web.access.begin(
            AccessControl.Outlets(wake: {}, tell: { _ in }) { id, _, end in
                if end == .leaseExpired { participants[id]?.kick?(.leaseExpired) }
            }
        )
        let sessions = try (0..<60).map { number in
            let (response, session) = try join(web, "Oriel-Viewer: viewer-number-\(1000 + number)")
            try #require(response.status == 201, "\(number): \(response)")
            return session
        }
        web.access.change { engine, _ in engine.noteSleep(.seconds(3000)) }
        _ = web.access.turn()
        #expect(web.places.count == 60)
        web.access.change { engine, _ in engine.noteSleep(.seconds(6000)) }
        _ = web.access.turn()
        try wait(until: "all have gone") { web.places.isEmpty }
        for session in sessions {
            let extended = try extend(web, session, #"{"seconds":60}"#)
            for answer in [extended, try web.request("DELETE", session)] {
                #expect(answer.status == 410 && answer["oriel-reason"] == "lease_expired", "\(answer)")
            }
        }
    }

    @Test func theReasonIsKnownForAMinute() {
        var sessions = ViewerSessions(viewerLimit: 1)
        sessions.note(.leaseExpired, forEndOf: "a", at: .seconds(10))
        sessions.note(.kicked, forEndOf: "b", at: .seconds(10))
        let reasons = [10, 69.9, 70].map { sessions.reasonForEnd(of: "a", at: .seconds($0)) }
        #expect(reasons == [.leaseExpired, .leaseExpired, nil])
        #expect(sessions.reasonForEnd(of: "b", at: .seconds(10_000)) == .kicked)
    }
}
