import Glibc
import TestSupport
import Testing

/// What the machine plays is heard at the speakers of those who look in, and what keeps a page from hearing or speaking is told.
extension Hear {
    @Suite struct PageSoundTests {
        private static let sweep = SoundClip.sweep(from: 300, to: 5000, lasting: 1, level: 0.4, channels: 2)

        /// A machine with a sound process, and the page in a browser with speakers.
        private final class Scene {
            let web: WebBroadcast
            let machine: PulseServer
            let speakers = try! PulseServer()
            let browser: Browser
            private let hearing: Subprocess

            init(_ kind: Browser.Kind, _ arguments: String...) throws {
                web = try WebBroadcast()
                machine = try PulseServer(of: .shared)
                hearing = try Subprocess(
                    [Programs.oriel, "hear", "--dir", web.broadcast.directory, "--sound", "monitor"],
                    environment: machine.environment
                )
                browser = try web.open(kind, sound: speakers, arguments)
                try browser.wait(forState: "live")
            }

            deinit { hearing.stop() }

            /// Plays a sweep again and again until it is found in what the speakers have played since the first one.
            func waitUntilTheSweepIsHeard(_ comment: String = "") throws {
                let recording = try speakers.record("speakers.monitor")
                let sweep = PageSoundTests.sweep
                var best = 0.0
                try wait(until: "the sweep is heard \(comment): \(best), \(hearing.errorOutput)") {
                    let start = recording.duration
                    try machine.play(sweep).wait()
                    // Up to three seconds later, as on a busy machine.
                    let heard = try recording.sound(lasting: .seconds(start + 4))
                    let since = heard.part(start..<heard.duration).channel()
                    best = SoundAnalysis.find(sweep.part(0.1..<0.9).channel(), in: since)?.correlation ?? 0
                    return best > 0.8
                }
            }
        }

        @Test(arguments: Browser.Kind.allCases) func theMachineIsHeard(kind: Browser.Kind) throws {
            let scene = try Scene(kind)
            try scene.waitUntilTheSweepIsHeard()
            func isHidden() throws -> Bool {
                try scene.browser.evaluate("document.getElementById('sound').hidden", as: Bool.self)
            }
            try wait(until: "the speaker is shown") { try !isHidden() }
            #expect(try !scene.browser.isShown("hear"))
            // Turned off and on again.
            func press() throws {
                _ = try scene.browser.evaluate("(document.getElementById('sound').click(), true)", as: Bool.self)
            }
            try press()
            #expect(try scene.browser.evaluate("document.getElementById('heard').muted", as: Bool.self))
            try press()
            try scene.waitUntilTheSweepIsHeard("again")
        }

        /// The picture is there at once, and the sound with the first click: on the button that says so, or anywhere.
        @Test(arguments: [
            "getElementById('hear').click()", "body.dispatchEvent(new Event('pointerup', {bubbles: true}))",
        ])
        func whatTheBrowserBlocksIsHeardAfterAClick(click: String) throws {
            let scene = try Scene(.chromium, "--arg=--autoplay-policy=document-user-activation-required")
            try wait(until: "frames are decoded") { try scene.browser.framesDecoded >= 1 }
            func isBlocked() throws -> Bool {
                try scene.browser.evaluate("document.documentElement.dataset.sound === 'blocked'", as: Bool.self)
            }
            try wait(until: "the sound is blocked", isBlocked)
            try wait(until: "the page offers to be heard") {
                try scene.machine.play(Self.sweep).wait()
                return try scene.browser.isShown("hear")
            }
            // What nobody plays would pile up in the browser, and come late for ever.
            func isPlaying(muted: Bool) throws -> Bool {
                let element = "document.getElementById('heard')"
                let expected = "!\(element).paused && \(element).muted === \(muted)"
                return try scene.browser.evaluate(expected, as: Bool.self)
            }
            try wait(until: "it plays without being heard") { try isPlaying(muted: true) }
            try scene.browser.activate()
            _ = try scene.browser.evaluate("(document.\(click), true)", as: Bool.self)
            try wait(until: "it is not any more") { try !isBlocked() && isPlaying(muted: false) }
            #expect(try !scene.browser.isShown("hear"))
            try scene.waitUntilTheSweepIsHeard()
        }

        /// Noise, which browsers neither shorten nor leave out: what piled up while the speakers did not play it would stay for good.
        @Test func whatHasPiledUpIsSkipped() throws {
            let scene = try Scene(.chromium)
            let noise = try scene.machine.play(.noise(lasting: 5, channels: 2), repeating: true)
            defer { noise.stop() }
            func buffer() throws -> Double {
                try scene.browser.evaluate("oriel.stats().then(stats => stats.soundBufferMs ?? -1)", as: Double.self)
            }
            try wait(until: "sound plays without delay: \(try buffer())") { try 0..<150 ~= buffer() }
            try scene.speakers.suspend("speakers")
            try wait(until: "a second has piled up: \(try buffer())") { try buffer() > 500 }
            try wait(until: "it is skipped: \(try buffer())") { try 0..<150 ~= buffer() }
        }

        /// Browsers lend a microphone to pages by HTTPS alone.
        @Test func aPageThatMayNotHaveAMicrophoneSaysWhy() throws {
            let web = try WebBroadcast("--talkback", "on")
            let browser = try web.open(.chromium)
            try browser.wait(forState: "live")
            try wait(until: "the microphone is shown") {
                try !browser.evaluate("document.getElementById('talk').hidden", as: Bool.self)
            }
            _ = try browser.evaluate("(document.getElementById('talk').click(), true)", as: Bool.self)
            try wait(until: "it says why") {
                try browser.evaluate("document.body.textContent", as: String.self)
                    .contains("Your browser lends a microphone only to pages by HTTPS")
            }
        }
    }
}
