import FoundationEssentials
import Glibc
import TestSupport
import Testing

extension Admit {
    /// A broadcast into which viewers are let one by one.
    @Suite struct KnockTests {
        private func viewerNumber(_ web: WebBroadcast) -> String? {
            web.sender.errorLines.last { $0.contains("looks in from") }?
                .split(separator: " ").drop { $0 != "viewer" }.dropFirst().first.map(String.init)
        }

        @Test(arguments: [Browser.Kind.chromium, .firefox]) func aViewerAsksAndIsLetIn(kind: Browser.Kind) throws {
            let folder = try TemporaryDirectory(of: .shared)
            let web = try WebBroadcast("--accept", "ask", "--answer-timeout", "600", "--events", folder.file("events"))
            let browser = try web.open(kind)
            try browser.knock(as: "Ann")
            try web.sender.wait(until: "it is told") {
                web.sender.errorOutput.contains(
                    "\"Ann\" from \(Network.viewerAddress) (\"for the demo\") asks to look in"
                )
            }
            // The token alone shows nothing.
            let script = """
                (await fetch('snapshot.png', { headers: { Authorization: 'Bearer \(WebBroadcast.token)' } })).status
                """
            #expect(try browser.evaluate(script, as: Int.self) == 403)
            let status = try web.broadcast.run("status").output
            #expect(status.contains("1: \"Ann\" from"), "\(status)")
            #expect(try web.broadcast.run("accept", "2").code == 1)
            #expect(try web.broadcast.run("accept", "1").code == 0)
            try browser.wait(forState: "live")
            // The page is loaded anew.
            try browser.open("about:blank")
            try browser.open(web.page)
            try browser.wait(forState: "live")
            // Who was sent away has to ask again.
            let number = try #require(viewerNumber(web))
            #expect(try web.broadcast.run("kick", number).code == 0)
            try browser.wait(forState: "kicked")
            try browser.open("about:blank")
            try browser.open(web.page)
            try browser.knock(as: "Ann")
            try wait(until: "it is told") { try web.broadcast.run("status").output.contains("2: \"Ann\"") }
            #expect(try web.broadcast.run("reject", "2").code == 0)
            try browser.wait(forState: "rejected")
            web.sender.kill(SIGINT)
            try web.sender.wait()
            let lines = try String(decoding: contents(of: folder.file("events")), as: UTF8.self).split(separator: "\n")
            let events = try lines.map { try JSONDecoder().decode(Event.self, from: Data($0.utf8)) }
            #expect(
                events.map(\.event).filter { $0 != "broadcast" } == [
                    "call_joined", "knocked", "accepted", "peer_joined", "peer_left", "peer_joined",
                    "peer_left", "knocked", "rejected", "call_ended",
                ]
            )
            #expect(events.compactMap(\.reason) == ["hung_up", "kicked", "ended"])
            #expect(events.filter { $0.event.hasPrefix("peer") }.allSatisfy { $0.name == "Ann" && $0.call == "web" })
        }

        private struct Event: Decodable {
            let event: String
            let call: String?
            let name: String?
            let reason: String?
        }

        @Test func nobodyAnswers() throws {
            let web = try WebBroadcast("--accept", "ask", "--answer-timeout", "1")
            let browser = try web.open(.chromium)
            try browser.knock(as: "Bob")
            try browser.wait(forState: "no_answer")
            // The form is there again.
            try browser.knock(as: "Bob")
            try web.sender.wait(until: "it is told") {
                web.sender.errorOutput.contains(
                    "\"Bob\" from \(Network.viewerAddress) (\"for the demo\") got no answer"
                )
            }
        }

        @Test func whoCancelsCanAskAgain() throws {
            let web = try WebBroadcast("--accept", "ask", "--answer-timeout", "600")
            let browser = try web.open(.chromium)
            try browser.knock(as: "Dan")
            try web.sender.wait(until: "it is told") { web.sender.errorOutput.contains("\"oriel accept 1\"") }
            // Both before the sender can answer: the second wish is not lost with the first.
            let again = """
                (document.getElementById('cancel').click(), document.getElementById('knock').requestSubmit(), oriel.state)
                """
            #expect(try browser.evaluate(again, as: String.self) == "asking")
            try web.sender.wait(until: "both are told") {
                let told = web.sender.errorOutput
                return told.contains("waits no more") && told.contains("\"oriel accept 2\"")
            }
            #expect(try web.broadcast.run("accept", "2").code == 0)
            try browser.wait(forState: "live")
        }

        /// The page is closed before there is an answer.
        @Test func whoGoesWaitsNoMore() throws {
            let web = try WebBroadcast("--accept", "ask", "--answer-timeout", "600")
            let browser = try web.open(.chromium)
            try browser.knock(as: "Cid")
            // The page asks first, and the sender is told a little later.
            try web.sender.wait(until: "it is told") {
                web.sender.errorOutput.contains("\"Cid\" from")
            }
            try browser.open("about:blank")
            try web.sender.wait(until: "it is told") { web.sender.errorOutput.contains("waits no more") }
            #expect(try web.broadcast.run("accept", "1").code == 1)
        }

        /// With a status, and a sentence.
        @Test func aPlayerLearnsWhyItIsNotLetIn() throws {
            let web = try WebBroadcast("--accept", "ask", "--answer-timeout", "8", "--max-viewers", "1")
            func knock() throws -> Subprocess {
                try Counterparts.viewer(
                    .wrtc,
                    of: web.whep,
                    token: WebBroadcast.token,
                    in: web.network,
                    ["--seconds", "300"]
                )
            }
            let unheard = try Counterparts.report(knock())
            #expect(unheard.status == 503 && unheard.error?.contains("nobody has answered") == true)
            let rejected = try knock()
            try wait(until: "it knocks") { try web.broadcast.run("reject", "2").code == 0 }
            let refusal = try Counterparts.report(rejected)
            #expect(refusal.status == 403 && refusal.error?.contains("you were not let in") == true)
            let accepted = try knock()
            try wait(until: "it knocks") { try web.broadcast.run("accept", "3").code == 0 }
            try web.sender.wait(until: "it looks in") { web.sender.errorOutput.contains("looks in from") }
            // Nobody is asked about one for whom there is no place.
            let busy = try Counterparts.report(knock())
            #expect(busy.status == 503 && busy.error?.contains("there are 1 viewers already") == true)
            let number = try #require(viewerNumber(web))
            #expect(try web.broadcast.run("kick", number).code == 0)
            #expect(try Counterparts.report(accepted).deleted == 403)
        }

        /// A player knows of no knocking: its request waits.
        @Test func aPlayerWaits() throws {
            let web = try WebBroadcast("--accept", "ask", "--answer-timeout", "600")
            let viewer = try Counterparts.viewer(
                .wrtc,
                of: web.whep,
                token: WebBroadcast.token,
                in: web.network,
                ["--frames", "1", "--seconds", "300"]
            )
            try web.sender.wait(until: "it knocks") { web.sender.errorOutput.contains("somebody from") }
            #expect(try web.broadcast.run("accept", "1").code == 0)
            #expect(try Counterparts.report(viewer).frames >= 1)
        }
    }
}

extension Browser {
    /// Fills in the form of a page that lets people in one by one.
    func knock(as name: String) throws {
        try TestSupport.wait(until: "the form is there") { try ["knocking", "no_answer"].contains(state) }
        let script = """
            (document.getElementById('name').value = '\(name)', document.getElementById('note').value = 'for the demo',
            document.getElementById('knock').requestSubmit(), oriel.state)
            """
        // The answer may come before the state could be looked at again.
        #expect(try evaluate(script, as: String.self) == "asking")
    }
}
