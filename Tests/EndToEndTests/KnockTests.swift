import Glibc
import TestSupport
import Testing

extension WebTests {
    /// A broadcast into which viewers are let one by one.
    @Suite struct KnockTests {
        private func knock(_ browser: Browser, as name: String) throws {
            try browser.wait(forState: "knocking")
            let script = """
                (document.getElementById('name').value = '\(name)', document.getElementById('note').value = 'for the demo',
                document.getElementById('knock').requestSubmit(), true)
                """
            let _: Bool? = try browser.evaluateOptional(script)
            try browser.wait(forState: "asking")
        }

        private func viewerNumber(_ web: WebBroadcast) -> String? {
            web.sender.errorOutput.split(separator: "\n").last { $0.contains("looks in from") }?
                .split(separator: " ").drop { $0 != "viewer" }.dropFirst().first.map(String.init)
        }

        @Test(arguments: [Browser.Kind.chromium, .firefox]) func aViewerAsksAndIsLetIn(kind: Browser.Kind) throws {
            let web = try WebBroadcast("--accept", "ask", "--answer-timeout", "600")
            let browser = try web.open(kind)
            try knock(browser, as: "Ann")
            try wait(until: "it is told: \(web.sender.errorOutput)") {
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
            try knock(browser, as: "Ann")
            try wait(until: "it is told") { try web.broadcast.run("status").output.contains("2: \"Ann\"") }
            #expect(try web.broadcast.run("reject", "2").code == 0)
            try browser.wait(forState: "rejected")
        }

        @Test func nobodyAnswers() throws {
            let web = try WebBroadcast("--accept", "ask", "--answer-timeout", "1")
            let browser = try web.open(.chromium)
            try knock(browser, as: "Bob")
            try browser.wait(forState: "knocking")
            try wait(until: "it is told") {
                web.sender.errorOutput.contains(
                    "\"Bob\" from \(Network.viewerAddress) (\"for the demo\") got no answer"
                )
            }
        }

        /// The page is closed before there is an answer.
        @Test func whoGoesWaitsNoMore() throws {
            let web = try WebBroadcast("--accept", "ask", "--answer-timeout", "600")
            let browser = try web.open(.chromium)
            try knock(browser, as: "Cid")
            try browser.open("about:blank")
            try wait(until: "it is told") { web.sender.errorOutput.contains("waits no more") }
            #expect(try web.broadcast.run("accept", "1").code == 1)
        }

        /// A player knows of no knocking: its request waits.
        @Test func aPlayerWaits() throws {
            let web = try WebBroadcast("--accept", "ask", "--answer-timeout", "600")
            let viewer = try Counterparts.viewer(
                .wrtc,
                of: web.whep,
                token: WebBroadcast.token,
                in: web.network,
                ["--frames", "1", "--seconds", "60"]
            )
            try wait(until: "it knocks") { web.sender.errorOutput.contains("somebody from") }
            #expect(try web.broadcast.run("accept", "1").code == 0)
            #expect(try Counterparts.report(viewer).frames >= 1)
        }
    }
}
