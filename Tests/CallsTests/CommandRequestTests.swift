import Access
import Control
import HTTP
import Media
import Synchronization
import TestSupport
import Testing
import Time

@testable import Calls

/// Requests to change what all see.
@Suite struct CommandRequestTests {
    private func web(_ rights: Rights = [.watch, .hear, .controls]) throws -> WebFixture {
        var settings = AccessEngine.Settings()
        settings.rights = rights
        return try WebFixture(viewerLimit: 5, access: AccessControl(settings, token: WebFixture.token))
    }

    private func command(_ web: WebFixture, _ session: String, _ body: String) throws -> ReceivedResponse {
        try web.request("POST", session + "/command", ["Content-Type: application/json"], body: body)
    }

    @Test func aCommandIsDoneByThatViewer() throws {
        let web = try web()
        let done = Mutex<[String]>([])
        web.commands.begin { command, viewer in
            done.withLock { $0.append("\(viewer): \(command)") }
            return nil
        }
        let sessions = try (0..<2).map { _ in try web.join().session }
        #expect(try command(web, sessions[1], #"{"viewport":[0,10,640,370]}"#).status == 204)
        #expect(try command(web, sessions[0], #"{"viewport":null}"#).status == 204)
        let edges = ["0,0,64,36", "65470,65498,65534,65534"]
        for edge in edges { #expect(try command(web, sessions[0], "{\"viewport\":[\(edge)]}").status == 204) }
        #expect(done.withLock { $0.suffix(2) } == edges.map { "1: viewport(Optional(\($0)))" })
        #expect(done.withLock { Array($0.prefix(2)) } == ["2: viewport(Optional(0,10,640,370))", "1: viewport(nil)"])
        web.commands.begin { _, _ in CommandDesk.Refusal("outside", "it is not in the source") }
        let refused = try command(web, sessions[0], #"{"viewport":[0,0,64,36]}"#)
        #expect(refused.status == 409 && refused["oriel-reason"] == "outside", "\(refused)")
        #expect(refused.text == "it is not in the source\n")
    }

    @Test func whoHasNotTheRightIsTold() throws {
        let web = try web([.watch, .hear])
        web.commands.begin { command, _ in
            Issue.record("\(command)")
            return nil
        }
        let session = try web.join().session
        let refused = try command(web, session, #"{"viewport":null}"#)
        #expect(refused.status == 403 && refused["oriel-reason"] == "right", "\(refused)")
        #expect(try command(web, "/whep/0123456789abcdef0123456789abcdef", #"{"viewport":null}"#).status == 404)
        #expect(try web.request("GET", session + "/command").status == 405)
    }

    @Test(arguments: [
        "", "{}", "[]", "null", "\"viewport\"", #"{"viewport":[]}"#, #"{"viewport":[0,0,640]}"#,
        #"{"viewport":[0,0,640,360,1]}"#, #"{"viewport":[640,360,0,0]}"#, #"{"viewport":[0,0,63,36]}"#,
        #"{"viewport":[0,0,64,35]}"#, #"{"viewport":[1,1,2,2]}"#, #"{"viewport":[-1,0,640,360]}"#,
        #"{"viewport":[0,0,65535,360]}"#, #"{"viewport":[0,0,640,65535]}"#, #"{"viewport":[0,0,640.5,360]}"#,
        #"{"viewport":["0","0","640","360"]}"#,
        #"{"viewport":[0,0,99999999999999999999,360]}"#, #"{"viewport":"off"}"#, #"{"Viewport":null}"#,
        #"{"viewport":[0,0,640,360]"#, "\u{0}", String(repeating: "[", count: 4000),
        String(repeating: "x", count: 50_000),
    ]) func whatMakesNoSenseChangesNothing(body: String) throws {
        let web = try web()
        web.commands.begin { command, _ in
            Issue.record("\(command)")
            return nil
        }
        let refused = try command(web, web.join().session, body)
        #expect(refused.status == 422 && refused["oriel-reason"] == "field", "\(refused)")
        #expect(refused.text.hasPrefix("a command is {\"viewport\": [x1, y1, x2, y2]} in pixels"), "\(refused.text)")
    }

    /// Ten at once, and then four a second; another viewer is not slowed.
    @Test func commandsAreLimited() throws {
        let web = try web()
        let count = Mutex(0)
        web.commands.begin { _, _ in
            count.withLock { $0 += 1 }
            return nil
        }
        let (hasty, other) = (try web.join().session, try web.join().session)
        let client = try web.connect()
        let answers = try (0..<200).map { _ in
            try client.request("POST", hasty + "/command", [WebFixture.authorization], body: #"{"viewport":null}"#)
        }
        let refused = answers.filter { $0.status == 429 }
        #expect(refused.count > 150 && refused.allSatisfy { $0["retry-after"].flatMap { Int($0) } ?? 0 >= 1 })
        #expect(answers.count { $0.status == 204 } == count.withLock(\.self))
        #expect(try command(web, other, #"{"viewport":null}"#).status == 204)
    }
}
