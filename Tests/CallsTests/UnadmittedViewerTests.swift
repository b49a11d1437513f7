import Access
import Calls
import TestSupport
import Testing
import WebRTC

/// What viewers get while nobody has let them in.
@Suite struct UnadmittedViewerTests {
    private static let known = "Oriel-Viewer: 0123456789abcdef"
    private static let unknown = "Oriel-Viewer: fedcba9876543210"

    private let web: WebFixture
    private let access: AccessControl

    init() throws {
        var settings = AccessEngine.Settings()
        settings.asks = true
        settings.guests = [Guest(key: try #require(GuestKey(rawValue: sha256(of: "0123456789abcdef"))), name: "Ann")]
        access = AccessControl(settings, token: WebFixture.token, viewerLimit: 1)
        access.begin(AccessControl.Outlets(wake: {}) { _ in })
        web = try WebFixture(viewerLimit: 1, access: access)
    }

    private func knock(by offer: String) throws -> HTTPClient {
        let client = try web.connect()
        let length = "Content-Length: \(offer.utf8.count)"
        let fields = ["Host: x", WebFixture.authorization, WebFixture.sdp, Self.unknown, "Oriel-Name: Eve", length]
        client.send((["POST /whep HTTP/1.1"] + fields + ["", offer]).joined(separator: "\r\n"))
        return client
    }

    @Test func nobodyIsAskedAboutAnOfferOfNoUse() throws {
        let foreign = WebFixture.offer.replacing("VP8", with: "H264")
        for (offer, status) in [("garbage", 400), (foreign, 406)] {
            #expect(try knock(by: offer).response().status == status)
            #expect(access.read(\.waiting).isEmpty)
        }
        let waiting = try knock(by: WebFixture.offer)
        try wait(until: "it waits") { access.read(\.waiting).map(\.name) == ["Eve"] }
        _ = waiting
    }

    @Test func nobodyIsAskedWhenAllPlacesAreTaken() throws {
        let joined = try web.request("POST", "/whep", [WebFixture.sdp, Self.known], body: WebFixture.offer)
        #expect(joined.status == 201)
        for offer in [WebFixture.offer, "garbage"] {
            let response = try knock(by: offer).response()
            #expect(response.status == 503 && response["oriel-reason"] == "busy")
        }
        #expect(access.read(\.waiting).isEmpty)
        try wait(until: "it is told") { web.log.all.contains { $0.contains("\"Eve\" from 127.0.0.1 was turned away") } }
    }

    @Test(arguments: ["/snapshot.png", "/api/status", "/api/events"])
    func whoIsNotLetInLearnsNothingOfTheBroadcast(path: String) throws {
        for fields in [[], [Self.unknown]] {
            let response = try web.request("GET", path, fields)
            #expect(response.status == 403 && response["oriel-reason"] == "knock")
        }
        #expect(try web.request("GET", path, [Self.known]).status == 200)
    }
}
