import FoundationEssentials
import Glibc
import Posix
import TestSupport
import Testing

/// The microphone of the page: when it is open, and what the page says of it.
extension Speak {
    @Suite struct PageTalkTests {
        /// A sweep in each second, as browsers lend it to pages for a microphone.
        private static let sweep = SoundClip.sweep(from: 300, to: 3000, lasting: 1, level: 0.4)

        private func open(_ kind: Browser.Kind, of web: WebBroadcast, in folder: TemporaryDirectory) throws -> Browser {
            let browser: Browser
            switch kind {
            case .chromium:
                let (raw, wave) = (folder.file("sweep"), folder.file("sweep.wav"))
                try FileDescriptor.open(raw, O_WRONLY | O_CREAT).write(Self.sweep.bytes, at: 0)
                try Subprocess.run([
                    "ffmpeg", "-v", "error", "-f", "s16le", "-ar", "48000", "-ac", "1", "-i", raw, wave,
                ])
                browser = try Browser(
                    kind,
                    in: web.network,
                    "--arg=--disable-features=WebRtcHideLocalIpsWithMdns",
                    "--arg=--use-fake-ui-for-media-stream",
                    "--arg=--use-fake-device-for-media-stream",
                    "--arg=--use-file-for-fake-audio-capture=\(wave)",
                    // As if it was served by HTTPS.
                    "--arg=--unsafely-treat-insecure-origin-as-secure=\(web.origin)"
                )
            case .firefox:
                browser = try Browser(
                    kind,
                    in: web.network,
                    "--pref=media.navigator.streams.fake=true",
                    "--pref=media.navigator.permission.disabled=true",
                    "--pref=media.devices.insecure.enabled=true",
                    "--pref=media.getusermedia.insecure.enabled=true"
                )
            }
            try browser.open(web.page)
            try browser.wait(forState: "live")
            return browser
        }

        @Test(arguments: Browser.Kind.allCases)
        func aPageSpeaks(kind: Browser.Kind) throws {
            let web = try WebBroadcast("--talkback", "ask")
            let listener = try Listener(to: web.broadcast)
            let folder = try TemporaryDirectory()
            let browser = try open(kind, of: web, in: folder)
            try browser.click("talk")
            let number = try web.broadcast.talker("asked")
            try wait(for: "asking", of: browser, in: web)
            #expect(listener.seconds == 0)
            try web.broadcast.talk(number, "on")
            try wait(for: "on", of: browser, in: web)
            _ = try listener.hear(2, web.sender)
            try TestSupport.wait(until: "its microphone is heard") {
                let heard = try listener.hear(4, web.sender).clip.channel()
                switch kind {
                case .chromium:
                    let found = SoundAnalysis.find(Self.sweep.part(0.1..<0.9).channel(), in: heard)
                    return found.map { $0.correlation > 0.5 } ?? false
                // Firefox's own is a tone.
                case .firefox: return SoundAnalysis.level(in: heard) > -45
                }
            }
            #expect(try web.broadcast.talkers().first?.voice != nil)
            // It closes its microphone, and opens it again without asking.
            try browser.click("talk")
            try wait(for: "off", of: browser, in: web)
            try TestSupport.wait(until: "the sender knows") {
                try web.broadcast.talkers().first?.talk == "granted"
            }
            try browser.click("talk")
            try wait(for: "on", of: browser, in: web)
            _ = try listener.hear(1, web.sender)
            try web.broadcast.talk(number, "off")
            try wait(for: "off", of: browser, in: web)
            #expect(try web.broadcast.talkers().first?.talk == "none")
        }

        private func wait(for state: String, of browser: Browser, in web: WebBroadcast) throws {
            try TestSupport.wait(until: "the page is \(state): \(web.sender.errorOutput)") {
                try browser.evaluate("document.documentElement.dataset.talk", as: String.self) == state
            }
        }

        /// Keeps the microphones that the page opens, and what it says meanwhile, in `microphones` and `sentences`.
        private func observe(_ browser: Browser) throws {
            let script = """
                (() => {
                    window.microphones = [];
                    const { mediaDevices } = navigator, open = mediaDevices.getUserMedia.bind(mediaDevices);
                    mediaDevices.getUserMedia = async constraints => {
                        const stream = await open(constraints);
                        microphones.push(...stream.getTracks());
                        return stream;
                    };
                    window.sentences = [];
                    const status = document.getElementById('status');
                    new MutationObserver(() => sentences.push(status.textContent)).observe(status, { childList: true });
                    return true;
                })()
                """
            _ = try browser.evaluate(script, as: Bool.self)
        }

        private func openMicrophones(_ browser: Browser) throws -> Int {
            try browser.evaluate("microphones.filter(({ readyState }) => readyState === 'live').length", as: Int.self)
        }

        private func hasSaid(_ sentence: String, _ browser: Browser) throws -> Bool {
            try browser.evaluate("sentences.some(one => one.startsWith('\(sentence)'))", as: Bool.self)
        }

        @Test func aRefusedRequestEndsWithASentence() throws {
            let web = try WebBroadcast("--talkback", "ask")
            let folder = try TemporaryDirectory()
            let browser = try open(.chromium, of: web, in: folder)
            try observe(browser)
            try browser.click("talk")
            let number = try web.broadcast.talker("asked")
            try wait(for: "asking", of: browser, in: web)
            #expect(try browser.isShown("speech"))
            let speech = "document.getElementById('speech').textContent"
            #expect(try browser.evaluate(speech, as: String.self) == "Asked to speak, waiting…")
            try web.broadcast.talk(number, "off")
            try wait(for: "off", of: browser, in: web)
            #expect(try hasSaid("Your request to speak was refused.", browser))
            #expect(try openMicrophones(browser) == 0)
            // The next one is refused at once.
            try browser.click("talk")
            try TestSupport.wait(until: "it is told") {
                try hasSaid("Your request to speak was refused. You can ask again in", browser)
            }
            #expect(try openMicrophones(browser) == 0)
        }

        /// The sender is gone for longer than somebody would go on speaking into nothing.
        @Test func aLostConnectionClosesTheMicrophone() throws {
            let web = try WebBroadcast("--talkback", "on")
            let folder = try TemporaryDirectory()
            let browser = try open(.chromium, of: web, in: folder)
            try observe(browser)
            try browser.click("talk")
            try wait(for: "on", of: browser, in: web)
            #expect(try openMicrophones(browser) == 1)
            web.sender.kill(SIGKILL)
            try browser.wait(forState: "reconnecting")
            try wait(for: "off", of: browser, in: web)
            #expect(try openMicrophones(browser) == 0)
            #expect(try hasSaid("The connection was lost, so your microphone is off.", browser))
            // It stays closed until somebody opens it.
            try web.restartSender()
            try browser.wait(forState: "live")
            #expect(try openMicrophones(browser) == 0)
            try browser.click("talk")
            try wait(for: "on", of: browser, in: web)
        }
    }
}
