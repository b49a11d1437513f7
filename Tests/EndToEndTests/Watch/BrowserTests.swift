import TestSupport
import Testing

/// Real browsers open the page and see the screen.
extension Watch {
    @Suite struct BrowserTests {
        /// The viewer's panel tells what the sender knows too.
        @Test func thePanelTellsOfTheLink() throws {
            let web = try WebBroadcast()
            let counter = try draw("counter", on: web.server)
            let browser = try web.open(.chromium)
            try browser.wait(forState: "live")
            let _: Bool? = try browser.evaluateOptional("document.getElementById('statistics').click()")
            func cell(_ name: String) throws -> String {
                let find = "[...document.querySelectorAll('#panel dt')].find(term => term.textContent === '\(name)')"
                return try browser.evaluate("\(find).nextElementSibling.textContent", as: String.self)
            }
            try wait(until: "the link was measured") { try cell("Link").hasSuffix("Mb/s") }
            for name in ["Target", "Waiting", "Quantizer", "Round trip", "Loss"] {
                try wait(until: "\(name) is told") { try cell(name) != "–" }
            }
            #expect(try cell("Rendition") == "1")
            #expect(try ["–", "still", "link", "processor"].contains(cell("Limit")))
            counter.stop()
        }

        /// Text that VP8 cannot show sharply at such a bitrate moves everybody who takes it to AV1, and film moves them back,
        /// within one call.
        @Test(arguments: Browser.Kind.allCases)
        func theCodecFollowsTheContent(kind: Browser.Kind) throws {
            let web = try WebBroadcast("--bitrate", "300k")
            let text = try draw("scrolling", on: web.server)
            let browser = try web.open(kind)
            try browser.wait(forState: "live")
            func codec() throws -> String { try browser.statistic("codec") }
            // The choice rests for half a minute where the machine was too busy for AV1.
            try wait(until: "it is AV1") { try codec() == "AV1" }
            // Those that cannot take it stay with what they have.
            let plain = try web.view(.pion, "--codec", "VP8", "--frames", "30", "--seconds", "300")
            #expect(plain.frames >= 30)
            let before = try browser.framesDecoded
            try wait(until: "frames are decoded") { try browser.framesDecoded > before + 20 }
            // Also where somebody receives VP8 all the while, so that it does not begin with a keyframe.
            let other = try Counterparts.viewer(
                .pion,
                of: web.whep,
                token: WebBroadcast.token,
                in: web.network,
                ["--codec", "VP8", "--frames", "100000", "--seconds", "300"]
            )
            try wait(until: "both look in") { try web.broadcast.run("status").output.contains("vp8") }
            text.stop()
            let film = try draw("motion", on: web.server)
            try wait(until: "it is VP8 again") { try codec() == "VP8" }
            film.stop()
            other.stop()
            let counter = try draw("counter", on: web.server)
            try wait(until: "the picture is right") { try browser.number() != nil }
            #expect(try browser.evaluate("oriel.pc.connectionState", as: String.self) == "connected")
            counter.stop()
        }

        /// Chromium offers the dependency descriptor only to who asks for it.
        @Test func theDependencyDescriptorOfAV1IsUnderstood() throws {
            let web = try WebBroadcast("--codec", "av1")
            let counter = try draw("counter", on: web.server, "--fps", "30")
            let browser = try web.open(.chromium)
            try browser.wait(forState: "live")
            let script = """
                (async () => {
                    const pc = new RTCPeerConnection();
                    const transceiver = pc.addTransceiver('video', {direction: 'recvonly'});
                    const extensions = transceiver.getHeaderExtensionsToNegotiate();
                    for (const extension of extensions) {
                        if (extension.uri.includes('dependency-descriptor')) extension.direction = 'sendrecv';
                    }
                    transceiver.setHeaderExtensionsToNegotiate(extensions);
                    await pc.setLocalDescription();
                    while (pc.iceGatheringState !== 'complete') await new Promise(resolve => setTimeout(resolve, 20));
                    const headers = {'Content-Type': 'application/sdp', 'Authorization': 'Bearer \(WebBroadcast.token)'};
                    const body = pc.localDescription.sdp;
                    const answer = await (await fetch('/whep', {method: 'POST', headers, body})).text();
                    await pc.setRemoteDescription({type: 'answer', sdp: answer});
                    for (;;) {
                        await new Promise(resolve => setTimeout(resolve, 100));
                        const reports = [...(await pc.getStats()).values()];
                        const frames = reports.find(report => report.kind === 'video' && report.framesDecoded)
                            ?.framesDecoded ?? 0;
                        if (frames >= 60) return answer;
                    }
                })()
                """
            let answer = try browser.evaluate(script, as: String.self)
            #expect(answer.contains("#dependency-descriptor-rtp-header-extension"))
            counter.stop()
        }

        /// Names that nobody can look up here stand for the browser's addresses; its own checks show where it is.
        @Test func aBrowserThatHidesItsAddressesIsFoundToo() throws {
            let web = try WebBroadcast()
            let hidden = "(oriel.pc?.localDescription?.sdp.match(/candidate:.*local/g) ?? []).length"
            // Each time by a fresh browser, until one has given its address a name.
            for _ in 0..<5 {
                let browser = try web.open(.chromium, hidesAddresses: true)
                let isHidden = { try browser.evaluate(hidden, as: Int.self) > 0 }
                guard (try? wait(until: "it gathers", timeout: .seconds(5), isHidden)) != nil else { continue }
                try browser.wait(forState: "live")
                return
            }
            Issue.record("no browser gathered a candidate")
        }

        @Test func aCertificateMakesItHTTPS() throws {
            let folder = try TemporaryDirectory(of: .shared)
            let (key, certificate) = try makeCertificate(for: ["*.oriel.test", "screen.oriel.test"], in: folder)
            let web = try WebBroadcast("--tls-cert", certificate, "--tls-key", key)
            let link = web.page.replacing("http://", with: "https://")
            // Under any other name a browser would not trust it.
            #expect(web.sender.output == "https://screen.oriel.test:8080/#\(WebBroadcast.token)\n")
            let browser = try web.open(.chromium, page: link)
            try browser.wait(forState: "live")
            #expect(try browser.evaluate("isSecureContext", as: Bool.self))
        }

        /// One that nobody has signed serves too, and is the same after each start.
        @Test func aCertificateOfItsOwnMakesItHTTPS() throws {
            let web = try WebBroadcast("--https")
            func fingerprint() throws -> Substring {
                try #require(
                    web.sender.errorOutput.firstMatch(of: /SHA-256: ((?:[0-9A-F]{2}:){31}[0-9A-F]{2})\n/)?.output.1
                )
            }
            let first = try fingerprint()
            let link = web.page.replacing("http://", with: "https://")
            #expect(web.sender.output == "\(link)\n")
            let browser = try web.open(.chromium, page: link)
            try browser.wait(forState: "live")
            #expect(try browser.evaluate("isSecureContext", as: Bool.self))
            web.sender.stop()
            try web.restartSender()
            #expect(try fingerprint() == first)
        }

        @Test func aBrowserLooksInOverIPv6() throws {
            let web = try WebBroadcast(over: Network(.ipv6))
            let browser = try web.open(.chromium)
            try browser.wait(forState: "live")
            try wait(until: "frames are decoded") { try browser.framesDecoded > 0 }
            #expect(try browser.statistic("remoteCandidate").contains("fd99::1"))
        }

        /// A screen at rest shows at once to whoever comes later.
        /// Invariant: firstPicture.
        @Test func aLateViewerOfAStillScreenSeesIt() throws {
            let web = try WebBroadcast()
            let still = try draw("counter", on: web.server, "--rate", "0.001")
            let early = try web.open(.chromium)
            try early.wait(forState: "live")
            try wait(until: "the early viewer sees it") { try early.number() != nil }
            let late = try web.open(.chromium)
            try late.wait(forState: "live")
            let number = try #require(try early.number())
            try wait(until: "the late viewer sees the same") { try late.number() == number }
            still.stop()
        }
    }
}
