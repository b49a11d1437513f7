import FoundationEssentials
import Glibc
import TestSupport
import Testing

extension Admit {
    /// Viewers that may stay for a time.
    @Suite struct ViewerLeaseTests {
        private let folder: TemporaryDirectory

        init() throws { folder = try TemporaryDirectory(of: .shared) }

        private func events(_ kind: String) throws -> Int {
            try String(decoding: contents(of: folder.file("events")), as: UTF8.self).ranges(of: "\"event\":\"\(kind)\"")
                .count
        }

        @Test(arguments: Browser.Kind.allCases) func aPageStaysAsLongAsSomebodyLooks(kind: Browser.Kind) throws {
            let web = try WebBroadcast("--lease", "20s", "--events", folder.file("events"))
            let browser = try web.open(kind)
            try browser.wait(forState: "live")
            #expect(try web.broadcast.run("status", "--json").output.contains("\"lease_s\":"))
            let before = try browser.evaluate("oriel.leaseLeft", as: Double.self)
            #expect(before > 0 && before <= 20)
            var (extensions, last) = (0, before)
            try wait(until: "its time was extended some times") {
                let left = try browser.evaluate("oriel.leaseLeft", as: Double.self)
                if left > last { extensions += 1 }
                last = left
                return extensions >= 2
            }
            #expect(try browser.state == "live" && !browser.isShown("lease"))
            #expect(try events("peer_joined") == 1 && events("peer_left") == 0 && events("lease_ending") == 0)
            let _: Bool? = try browser.evaluateOptional("(document.getElementById('statistics').focus(), true)")
            let focused = "document.activeElement.id"
            try look(browser, at: "hidden")
            try wait(until: "it asks") { try browser.isShown("lease") }
            #expect(try browser.evaluate(focused, as: String.self) == "stay")
            #expect(try browser.audit() == [])
            try look(browser, at: "visible")
            try wait(until: "it asks no more") { try !browser.isShown("lease") }
            #expect(try browser.evaluate(focused, as: String.self) == "statistics")
            try look(browser, at: "hidden")
            try browser.wait(forState: "lease_expired")
            #expect(try events("lease_ending") >= 1 && events("peer_left") == 1)
            let lines = try String(decoding: contents(of: folder.file("events")), as: UTF8.self)
            #expect(lines.contains("\"reason\":\"lease_expired\""), "\(lines)")
            #expect(web.sender.errorOutput.contains("has asked for no more time"))
            try look(browser, at: "visible")
            try browser.wait(forState: "live")
        }

        /// As a tab that is left and entered.
        private func look(_ browser: Browser, at visibility: String) throws {
            let script = """
                (() => {
                    Object.defineProperty(document, 'visibilityState', { value: '\(visibility)', configurable: true });
                    document.dispatchEvent(new Event('visibilitychange'));
                    return true;
                })()
                """
            let _: Bool? = try browser.evaluateOptional(script)
        }

        /// It cannot ask for more time.
        @Test func aPlayerHasToGo() throws {
            let web = try WebBroadcast("--lease", "15s", "--events", folder.file("events"))
            let counter = try draw("counter", on: web.server)
            let report = try web.view(.aiortc, "--seconds", "25")
            #expect(report.frames > 0)
            try wait(until: "it has gone") { try events("peer_left") == 1 }
            #expect(try events("lease_ending") == 1)
            counter.stop()
        }

        /// By those who ask for one, as `docs/live-view.md` shows.
        @Test func aProgramExtendsItsView() throws {
            let web = try WebBroadcast()
            let script = """
                import asyncio, json, sys, urllib.request
                from aiortc import RTCPeerConnection, RTCSessionDescription
                origin, token = sys.argv[1:]
                def ask(method, path, body=None, **headers):
                    headers = {"Authorization": f"Bearer {token}", **{k.replace("_", "-"): v for k, v in headers.items()}}
                    request = urllib.request.Request(f"{origin}/{path}", body, headers, method=method)
                    try: return urllib.request.urlopen(request)
                    except urllib.error.HTTPError as refusal: return refusal
                async def main():
                    peer = RTCPeerConnection()
                    peer.addTransceiver("video", "recvonly")
                    await peer.setLocalDescription(await peer.createOffer())
                    offer = peer.localDescription.sdp.encode()
                    answer = ask("POST", "whep", offer, Content_Type="application/sdp", Oriel_Lease="20")
                    print(answer.status, answer.headers["Oriel-Lease"], flush=True)
                    session = answer.headers["Location"]
                    await peer.setRemoteDescription(RTCSessionDescription(answer.read().decode(), "answer"))
                    await asyncio.sleep(2)
                    more = ask("PUT", f"{session}/lease", b'{"seconds": 30}', Content_Type="application/json")
                    print(more.status, json.load(more)["seconds"], flush=True)
                    await asyncio.sleep(20)
                    print(ask("GET", f"{session}/lease").status, flush=True)
                    for _ in range(100):
                        await asyncio.sleep(0.2)
                        end = ask("DELETE", session) if peer.connectionState == "closed" else ask("GET", f"{session}/lease")
                        if end.status != 200: break
                    print(end.status, end.headers["Oriel-Reason"], end.read().decode().strip(), flush=True)
                asyncio.run(main())
                """
            let program = try Subprocess(
                web.network.atViewer(Counterparts.python + ["-c", script, web.origin, WebBroadcast.token])
            )
            #expect(try program.wait() == .code(0), "\(program.errorOutput)")
            #expect(
                program.outputLines == [
                    "201 20", "200 30", "200",
                    "410 lease_expired the time of this view is over: begin another one",
                ],
                "\(program.output)"
            )
        }

        @Test(arguments: ["0", "9", "65536", "-1", "never"]) func aLeaseThatCannotBeIsRefused(value: String) throws {
            let result = try CommandResult([
                Programs.oriel, "attach", "web", "--dir", folder.file("bridge"), "--lease=\(value)",
            ])
            #expect(result.code == 64 && result.errorOutput.contains("--lease"), "\(result)")
            #expect(result.errorOutput.split(whereSeparator: \.isNewline).count == 1, "\(result)")
        }
    }
}
