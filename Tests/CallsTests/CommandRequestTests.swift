import Access
import Control
import HTTP
import JSON
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
        web.commands.begin { command, viewer, completion in
            done.withLock { $0.append("\(viewer): \(command)") }
            completion(nil)
        }
        let sessions = try (0..<2).map { _ in try web.join().session }
        #expect(try command(web, sessions[1], #"{"viewport":[0,10,640,370]}"#).status == 204)
        #expect(try command(web, sessions[0], #"{"viewport":null}"#).status == 204)
        let edges = ["0,0,64,36", "65470,65498,65534,65534"]
        for edge in edges { #expect(try command(web, sessions[0], "{\"viewport\":[\(edge)]}").status == 204) }
        #expect(done.withLock { $0.suffix(2) } == edges.map { "1: viewport(Optional(\($0)))" })
        #expect(done.withLock { Array($0.prefix(2)) } == ["2: viewport(Optional(0,10,640,370))", "1: viewport(nil)"])
        web.commands.begin { _, _, completion in completion(CommandRefusal("outside", "it is not in the source")) }
        let refused = try command(web, sessions[0], #"{"viewport":[0,0,64,36]}"#)
        #expect(refused.status == 409 && refused["oriel-reason"] == "outside", "\(refused)")
        #expect(refused.text == "it is not in the source\n")
    }

    @Test func whoHasNotTheRightIsTold() throws {
        let web = try web([.watch, .hear])
        web.commands.begin { command, _, _ in Issue.record("\(command)") }
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
        web.commands.begin { command, _, _ in Issue.record("\(command)") }
        let refused = try command(web, web.join().session, body)
        #expect(refused.status == 422 && refused["oriel-reason"] == "field", "\(refused)")
        #expect(refused.text.hasPrefix("a command is a JSON object with one key of viewport, "), "\(refused.text)")
    }

    /// Ten at once, and then four a second; another viewer is not slowed.
    @Test func commandsAreLimited() throws {
        let web = try web()
        let count = Mutex(0)
        web.commands.begin { _, _, completion in
            count.withLock { $0 += 1 }
            completion(nil)
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

    /// It may take a while, and other viewers and requests do not wait for it.
    @Test func aCommandMayTakeAWhile() throws {
        let web = try web()
        let waiting = Mutex<[CommandRefusal.Completion]>([])
        web.commands.begin { _, _, completion in waiting.withLock { $0.append(completion) } }
        let session = try web.join().session
        let client = try web.connect()
        let body = #"{"source":"next"}"#
        client.send(
            "POST \(session)/command HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        )
        try wait(until: "it has begun") { waiting.withLock { $0.count == 1 } }
        #expect(try web.request("GET", "/api/status").status == 200)
        waiting.withLock { $0.removeFirst() }(CommandRefusal("refused", "there is no window 0x7"))
        let answer = try client.response()
        #expect(answer.status == 409 && answer["oriel-reason"] == "refused", "\(answer)")
    }

    /// What can be done, and what this bearer may.
    @Test func capabilitiesTellWhatMayBeDone() throws {
        let web = try web()
        #expect(try web.request("GET", "/capabilities").status == 503)
        web.commands.begin { _, _, completion in
            completion(nil)
        } describe: { rights in
            var capabilities = Capabilities()
            capabilities.may = rights.names
            capabilities.commands.source = Capabilities.Sources(["slides"])
            return capabilities
        }
        let answer = try web.request("GET", "/capabilities")
        #expect(answer.status == 200 && answer["content-type"] == "application/json")
        let read = try Capabilities(jsonLine: answer.text)
        #expect(read.may == ["watch", "hear", "talk", "controls"] && read.commands.source?.names == ["slides"])
        #expect(read.commands.highlight == nil && !answer.text.contains("highlight"))
        #expect(try web.connect().request("GET", "/capabilities").status == 401)
        #expect(try web.request("POST", "/capabilities").status == 405)
    }

    /// A program that asks for JSON gets its refusals so (RFC 9457); others get a sentence.
    @Test(arguments: [
        ("application/problem+json", true), ("application/json", true), ("text/html, application/json;q=0.5", true),
        ("*/*", false), ("text/plain", false),
    ]) func refusalsAreDocumentsForPrograms(accepted: String, isDocument: Bool) throws {
        let web = try web([.watch])
        let session = try web.join().session
        let refused = try web.request(
            "POST",
            session + "/command",
            ["Accept: \(accepted)"],
            body: #"{"viewport":null}"#
        )
        #expect(refused.status == 403 && refused["oriel-reason"] == "right")
        let document =
            #"{"detail":"this link does not let you control","reason":"right","status":403,"title":"Forbidden","type":"about:blank"}"#
        #expect(refused["content-type"] == (isDocument ? "application/problem+json" : "text/plain; charset=utf-8"))
        #expect(refused.text == (isDocument ? document : "this link does not let you control") + "\n")
        let answer = try web.request("GET", "/api/status", ["Accept: \(accepted)"])
        #expect(answer.status == 200 && answer["content-type"] == "application/json")
    }
}
