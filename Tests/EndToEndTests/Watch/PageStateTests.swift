import Glibc
import TestSupport
import Testing

/// What the page tells while things happen at the other end.
extension Watch {
    @Suite struct PageStateTests {
        @Test func pauseAndResumeShow() throws {
            let web = try WebBroadcast()
            let browser = try web.open(.chromium)
            try browser.wait(forState: "live")
            #expect(try web.broadcast.run("pause").code == 0)
            try browser.wait(forState: "paused")
            #expect(try web.broadcast.run("resume").code == 0)
            try browser.wait(forState: "live")
        }

        @Test func aBrowserWithoutWebRTCIsToldSo() throws {
            let web = try WebBroadcast()
            let browser = try Browser(.firefox, in: web.network, "--pref=media.peerconnection.enabled=false")
            try browser.open(web.page)
            try browser.wait(forState: "unable")
        }

        /// As when the sender goes on by a path that leads nowhere any more: ICE, which is let through, finds nothing wrong.
        @Test func silenceEndsInANewSession() throws {
            let web = try WebBroadcast()
            let browser = try web.open(.chromium)
            try browser.wait(forState: "live")
            try web.network.loseMediaFromSender(true)
            try browser.wait(forState: "reconnecting")
            #expect(try browser.evaluate("oriel.pc.iceConnectionState", as: String.self) != "failed")
            try web.network.loseMediaFromSender(false)
            try browser.wait(forState: "live")
            // The page gives up before the sender does.
            try web.sender.wait(until: "the first viewer has left") {
                web.sender.errorOutput.contains("viewer 1 from 10.99.0.2 left")
            }
        }

        @Test func aKilledCaptureProcessShowsAndItsSuccessorToo() throws {
            let web = try WebBroadcast()
            let browser = try web.open(.chromium)
            try browser.wait(forState: "live")
            web.capture.kill(SIGKILL)
            try browser.wait(forState: "reconnecting")
            try web.restartCapture()
            try browser.wait(forState: "live")
        }

        @Test func aKilledSenderIsFoundAgain() throws {
            let web = try WebBroadcast()
            let counter = try draw("counter", on: web.server)
            let browser = try web.open(.chromium)
            try browser.wait(forState: "live")
            web.sender.kill(SIGKILL)
            try browser.wait(forState: "reconnecting")
            try web.restartSender()
            try browser.wait(forState: "live")
            var first: Int?
            try wait(until: "the counter is seen") {
                first = try browser.number()
                return first != nil
            }
            try wait(until: "the counter goes on") { try browser.number() ?? 0 > first! }
            counter.stop()
        }

        @Test func theEndShowsAndANewBroadcastToo() throws {
            let web = try WebBroadcast()
            let browser = try web.open(.chromium)
            try browser.wait(forState: "live")
            #expect(try web.broadcast.run("stop").code == 0)
            #expect(try web.sender.wait() == .code(0))
            try browser.wait(forState: "ended")
            try web.restartCapture()
            try web.restartSender()
            try browser.wait(forState: "live")
        }

        @Test func aWrongTokenIsDenied() throws {
            let web = try WebBroadcast()
            let browser = try web.open(.chromium, page: "\(web.origin)/#wrong")
            try browser.wait(forState: "denied")
            // The right one in its place is taken at once.
            _ = try browser.evaluateOptional("void (location.hash = '\(WebBroadcast.token)')", as: String.self)
            try browser.wait(forState: "live")
        }

        /// Nothing that the page says in passing hides why the picture went.
        @Test func noRemarkHidesThatSomebodyWasSentAway() throws {
            let web = try WebBroadcast("--talkback", "on")
            let browser = try web.open(.chromium)
            try browser.wait(forState: "live")
            let status = "document.getElementById('status').textContent"
            // A page without TLS says why it has no microphone.
            let remark = "(document.getElementById('talk').click(), \(status))"
            #expect(try browser.evaluate(remark, as: String.self).contains("only to pages by HTTPS"))
            #expect(try web.broadcast.run("kick", "1").code == 0)
            try browser.wait(forState: "kicked")
            #expect(try browser.evaluate(status, as: String.self) == "You were sent away.")
            #expect(try browser.evaluate(remark, as: String.self) == "You were sent away.")
        }

        @Test func tooManyViewersAreTold() throws {
            let web = try WebBroadcast("--max-viewers", "1")
            let first = try web.open(.chromium)
            try first.wait(forState: "live")
            let second = try web.open(.chromium)
            try second.wait(forState: "busy")
            // A place that becomes free is taken.
            try first.open("about:blank")
            try second.wait(forState: "live")
        }
    }
}
