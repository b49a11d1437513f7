import Access
import TestSupport
import Testing
import WebRTC

/// What is asked first at the doors of the web server: programs and pages rely on the order of refusals.
@Suite struct DoorTests {
    private static let secret = "0123456789abcdef"

    enum Token: CaseIterable { case none, wrong, right }

    private struct Answer: Equatable {
        var status: Int
        var reason: String?
        var isChallenge = false
        var links = 0
    }

    private static let nowhere = Answer(status: 404)
    private static let unauthorized = Answer(status: 401, isChallenge: true)
    private static let notTaken = Answer(status: 405)
    private static let mustKnock = Answer(status: 403, reason: "knock")

    /// The rules, from the first to the last: path, OPTIONS, page, token, method, guest.
    private static func expected(_ method: String, _ path: String, _ token: Token, isGuest: Bool) -> Answer {
        if path == "/nowhere" { return nowhere }
        if method == "OPTIONS" {
            if token == .wrong { return unauthorized }
            // Only one that would be let in learns the logins of relays.
            let learnsServers = token == .right && isGuest && path == "/whep"
            return Answer(status: 200, links: learnsServers ? WebFixture.links.count : 0)
        }
        if path == "/" { return ["GET", "HEAD"].contains(method) ? Answer(status: 200) : notTaken }
        if token != .right { return unauthorized }
        switch (path, method) {
        // What it is, is no secret from those with the link; it needs no guest.
        case ("/whep", "GET"), ("/whep", "HEAD"): return Answer(status: 200)
        case ("/whep", "POST"):
            return isGuest ? Answer(status: 201, links: WebFixture.links.count) : Answer(status: 428, reason: "knock")
        case ("/whep/0123", "DELETE"), ("/api/viewers/0123", "GET"), ("/api/viewers/0123", "HEAD"): return nowhere
        case ("/snapshot.png", "GET"), ("/snapshot.png", "HEAD"), ("/api/status", "GET"), ("/api/status", "HEAD"),
            ("/api/events", "GET"):
            return isGuest ? Answer(status: 200) : mustKnock
        default: return notTaken
        }
    }

    @Test(arguments: Token.allCases, [true, false])
    func theOrderOfRefusalsStays(token: Token, isGuest: Bool) throws {
        var settings = AccessEngine.Settings()
        settings.asks = true
        settings.guests =
            isGuest ? [Guest(key: try #require(GuestKey(rawValue: sha256(of: Self.secret))), name: "Ann")] : []
        let access = AccessControl(settings, token: WebFixture.token)
        access.begin(AccessControl.Outlets(wake: {}) { _ in })
        let web = try WebFixture(access: access)
        let paths = [
            "/", "/nowhere", "/whep", "/whep/0123", "/snapshot.png", "/api/status", "/api/events", "/api/viewers/0123",
        ]
        var count = 0
        for path in paths {
            for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"] {
                // Each from another network, or the wrong tokens would be too many.
                count += 1
                let client = try web.connect(from: "127.0.1.\(count)")
                var fields = ["Oriel-Viewer: \(Self.secret)"]
                switch token {
                case .none: break
                case .wrong: fields.append("Authorization: Bearer guess")
                case .right: fields.append(WebFixture.authorization)
                }
                let isOffer = path == "/whep" && method == "POST"
                if isOffer { fields.append(WebFixture.sdp) }
                let response = try client.request(method, path, fields, body: isOffer ? WebFixture.offer : nil)
                let answer = Answer(
                    status: response.status,
                    reason: response["oriel-reason"],
                    isChallenge: response["www-authenticate"] == "Bearer",
                    links: response.all("link").count
                )
                #expect(answer == Self.expected(method, path, token, isGuest: isGuest), "\(method) \(path)")
            }
        }
        #expect(access.read(\.waiting).isEmpty)
    }
}
