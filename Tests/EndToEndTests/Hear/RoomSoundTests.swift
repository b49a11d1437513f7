import TestSupport
import Testing

extension Hear {
    /// What the machine plays is heard at the page of a room.
    @Suite struct RoomSoundTests {
        /// While nobody hears it, as the browser waits for a click, the page plays without sound. What has piled up all the same is
        /// skipped: of noise, which browsers neither shorten nor leave out, it would stay for good.
        @Test func soundIsNotLateForLong() throws {
            let scene = try RoomScene()
            let machine = try PulseServer(of: .shared), speakers = try PulseServer()
            let hearing = try Subprocess(
                [Programs.oriel, "hear", "--dir", scene.first.broadcast.directory, "--sound", "monitor"],
                environment: machine.environment
            )
            defer { hearing.stop() }
            let noise = try machine.play(.noise(lasting: 5, channels: 2), repeating: true)
            defer { noise.stop() }
            let sender = try scene.first.attach("--sound")
            defer { sender.stop() }
            let browser = try scene.open(
                .chromium,
                sound: speakers,
                "--arg=--autoplay-policy=document-user-activation-required"
            )
            func isPlaying(muted: Bool) throws -> Bool {
                try browser.evaluate("!heard.paused && heard.muted === \(muted)", as: Bool.self)
            }
            try wait(until: "the page offers to be heard: \(sender.errorOutput)") { try browser.isShown("hear") }
            try wait(until: "it plays without being heard") { try isPlaying(muted: true) }
            try browser.activate()
            try browser.click("hear")
            try wait(until: "it is heard") { try isPlaying(muted: false) && !browser.isShown("hear") }

            /// In milliseconds, of half a second; -1 if nothing was played.
            func buffer() throws -> Double {
                let script = """
                    await (async () => {
                        const first = await oriel.soundStats();
                        await new Promise(resolve => setTimeout(resolve, 500));
                        const last = await oriel.soundStats(), since = key => last[key] - first[key];
                        return 1000 * since('jitterBufferDelay') / since('jitterBufferEmittedCount') || -1;
                    })()
                    """
                return try browser.evaluate(script)
            }
            try wait(until: "sound plays without delay: \(try buffer())") { try 0..<150 ~= buffer() }
            let count = """
                (() => {
                    const skip = oriel.skipSound.bind(oriel);
                    oriel.skipped = 0;
                    oriel.skipSound = milliseconds => {
                        oriel.skipped += milliseconds;
                        skip(milliseconds);
                    };
                    return true;
                })()
                """
            _ = try browser.evaluate(count, as: Bool.self)
            try speakers.suspend("speakers")
            try wait(until: "it is to be skipped: \(try buffer())") {
                try browser.evaluate("oriel.skipped", as: Double.self) > 500
            }
            try wait(until: "it is skipped: \(try buffer())") { try 0..<150 ~= buffer() }
        }
    }
}
