import FrameBridge
import Glibc
import Pixels
import Posix
import TestSupport
import Testing
import Time

/// A desktop of real programs that somebody works on: terminals, a film, windows dragged over each other. After every
/// burst of change the broadcast shows exactly what is on the screen, and so, within what the codec loses, do receivers.
extension Capture {
    @Suite struct InteractionTests {
        private static let size = PixelSize(width: 1280, height: 720)

        /// Seconds of work; ORIEL_INTERACTION_SECONDS makes it longer.
        private static var duration: Double {
            getenv("ORIEL_INTERACTION_SECONDS").flatMap { Double(String(cString: $0)) } ?? 12
        }

        /// Invariant: complete.
        @Test func noTileAndNoBlockIsStale() throws {
            let desktop = try Desktop(Self.size)
            let broadcast = try Broadcast(on: desktop.server.display, isOfTests: true)
            let statistics = StatisticsLines(broadcast.folder.file("capture.json"))
            let capture = try broadcast.start("--no-cursor", "--stats", statistics.path)
            let port = try Ports.free()
            let sender = try broadcast.attach(toPort: port, "--codec", "vp8", "--bitrate", "6000k")
            let description = String(decoding: try contents(of: broadcast.sdp), as: UTF8.self)
            let receiver = try Receiver(.ffmpeg, sdp: description, port: port, in: broadcast.folder)
            var reader = try FrameReader(directory: BridgeDirectory(path: broadcast.directory, create: false))

            let seed = MonotonicClock.now().nanoseconds
            var random = SplitMix(seed: seed)
            print("interaction with seed \(seed)")
            let end = MonotonicClock.now() + .seconds(Self.duration)
            var bursts = 0
            while MonotonicClock.now() < end || bursts < 5 {
                for _ in 0..<Int.random(in: 1...12, using: &random) { try desktop.act(&random) }
                try desktop.freeze()
                let grab = { try desktop.grab(in: broadcast.folder) }
                try compare(grab, with: &reader, burst: bursts)
                if bursts % 4 == 0 { try compare(grab, with: receiver, burst: bursts) }
                desktop.thaw()
                bursts += 1
            }
            try receiver.requireRunning()
            // A sweep that mends what damage has missed counts that. The last burst has been swept too when these are written.
            try desktop.freeze()
            let lines = try statistics.count
            try wait(until: "the whole screen was swept") { try statistics.count >= lines + 3 }
            desktop.thaw()
            #expect(try statistics.last("damage_missed") == 0)
            // It has come to a stream that was under way, perhaps in the midst of a picture.
            let harmless = ["Keyframe missing", "no start marker"]
            let complaints = receiver.complaints.filter { line in harmless.allSatisfy { !line.contains($0) } }
            #expect(try complaints.isEmpty || !receiver.gotAll, "\(complaints)")
            #expect(!capture.errorOutput.contains("does not tell"), "\(capture.errorOutput)")
            for program in [sender, capture] { program.stop() }
            receiver.stop()
        }

        /// Every byte of the broadcast's picture is that of an independent grab, converted as a whole.
        private func compare(_ grab: () throws -> Planes, with reader: inout FrameReader, burst: Int) throws {
            var problem = "no picture"
            try compareScreen(from: grab, until: "burst \(burst): the broadcast shows the screen: \(problem)") {
                screen in
                reader.forget()
                let outcome = try reader.read { frame in
                    problem = firstDifference(frame, screen) ?? ""
                }
                guard case .frame = outcome else { return false }
                return problem.isEmpty
            }
        }

        /// Waits for a condition on the screen, which is grabbed anew now and then: what a stopped program had asked for may be drawn after
        /// a grab.
        private func compareScreen(
            from grab: () throws -> Planes,
            until what: @autoclosure () throws -> String,
            _ condition: (Planes) throws -> Bool
        ) throws {
            var (screen, grabbedAt) = (try grab(), MonotonicClock.now())
            try wait(until: try what()) {
                if MonotonicClock.now() > grabbedAt + .seconds(5) {
                    (screen, grabbedAt) = (try grab(), MonotonicClock.now())
                }
                return try condition(screen)
            }
        }

        private func firstDifference(_ frame: borrowing Frame, _ screen: Planes) -> String? {
            for y in 0..<Self.size.height {
                for x in 0..<Self.size.width {
                    let luma = frame.luma.unsafeLoad(fromByteOffset: y * frame.lumaStride + x, as: UInt8.self)
                    let chroma = frame.chroma.unsafeLoad(fromByteOffset: y / 2 * frame.chromaStride + x, as: UInt8.self)
                    if luma != screen.luma[y * Self.size.width + x]
                        || chroma != screen.chroma[y / 2 * Self.size.width + x]
                    {
                        return "(\(x), \(y))"
                    }
                }
            }
            return nil
        }

        /// No macroblock of the decoded picture is another one's or an old one's.
        private func compare(_ grab: () throws -> Planes, with receiver: Receiver, burst: Int) throws {
            try compareScreen(from: grab, until: "burst \(burst): the receiver shows the screen") { screen in
                guard let picture = receiver.lastFrame else { return false }
                for row in 0..<Self.size.height / 16 {
                    for column in 0..<Self.size.width / 16 {
                        var squares = 0
                        for y in row * 16..<row * 16 + 16 {
                            for x in column * 16..<column * 16 + 16 {
                                let place = y * Self.size.width + x
                                let difference = Int(picture[place]) - Int(screen.luma[place])
                                squares += difference * difference
                            }
                        }
                        // 34 dB in each single block.
                        if squares > 26 * 256 { return false }
                    }
                }
                return true
            }
        }
    }
}

/// NV12 without padding.
private struct Planes {
    let luma: [UInt8]
    let chroma: [UInt8]
}

/// A window manager, two terminals at work and a film.
private final class Desktop {
    let server: XServer
    private let size: PixelSize
    private var programs: [Subprocess] = []
    private var windows: [String] = []

    init(_ size: PixelSize) throws {
        self.size = size
        server = try XServer(.virtual(width: size.width, height: size.height))
        let environment = server.environment
        programs.append(try Subprocess(["openbox"], environment: environment))
        let work = "while :; do ls -l --color=always /usr/bin | head -n 60; sleep 0.2; clear; sleep 0.1; done"
        for geometry in ["70x20+40+60", "60x24+520+240"] {
            programs.append(
                try Subprocess(["xterm", "-geometry", geometry, "-e", "sh", "-c", work], environment: environment)
            )
        }
        programs.append(
            try Subprocess(
                [
                    "ffplay", "-loglevel", "error", "-left", "800", "-top", "60", "-f", "lavfi",
                    "testsrc2=size=320x240:rate=30",
                ],
                environment: environment.merging(["SDL_AUDIODRIVER": "dummy"]) { $1 }
            )
        )
        try wait(until: "three windows are there") { [self] in
            let names = ["xterm", "testsrc2"]
            windows = try names.flatMap { name in
                let found = try CommandResult(
                    ["xdotool", "search", "--onlyvisible", name == "xterm" ? "--class" : "--name", name],
                    environment: environment
                )
                return found.output.split(separator: "\n").map(String.init)
            }
            return windows.count >= 3
        }
    }

    deinit {
        thaw()
        for program in programs.reversed() { program.stop() }
    }

    /// Does something that a person might do.
    func act(_ random: inout SplitMix) throws {
        let window = windows.randomElement(using: &random)!
        let x = "\(Int.random(in: -100...size.width - 100, using: &random))"
        let y = "\(Int.random(in: -50...size.height - 100, using: &random))"
        switch Int.random(in: 0..<7, using: &random) {
        case 0: try server.xdotool("windowmove", window, x, y)
        case 1:
            let width = "\(Int.random(in: 100...900, using: &random))"
            try server.xdotool("windowsize", window, width, "\(Int.random(in: 80...600, using: &random))")
        case 2: try server.xdotool("windowraise", window)
        case 3:
            try server.xdotool(
                "key",
                "--clearmodifiers",
                ["a", "Return", "ctrl+l", "Tab"].randomElement(using: &random)!
            )
        case 4:
            // Drags whatever is there by its inside, as openbox does with Alt.
            let from = (Int.random(in: 0..<size.width, using: &random), Int.random(in: 0..<size.height, using: &random))
            try server.xdotool("mousemove", "\(from.0)", "\(from.1)", "keydown", "alt", "mousedown", "1")
            for _ in 0..<6 {
                let step = (Int.random(in: -60...60, using: &random), Int.random(in: -40...40, using: &random))
                try server.xdotool("mousemove_relative", "--", "\(step.0)", "\(step.1)")
            }
            try server.xdotool("mouseup", "1", "keyup", "alt")
        case 5:
            try server.xdotool("mousemove", "\(Int.random(in: 0..<size.width, using: &random))", "300", "click", "4")
        default: usleep(UInt32.random(in: 1000...200_000, using: &random))
        }
    }

    /// Stops all drawing, and waits until the server has done what it was asked to.
    func freeze() throws {
        for program in programs { try program.suspend() }
        _ = try server.xdotool("getmouselocation")
    }

    func thaw() { for program in programs { program.kill(SIGCONT) } }

    /// The screen as ffmpeg grabs it, converted as a whole.
    func grab(in folder: TemporaryDirectory) throws -> Planes {
        let path = folder.file("screen.bgr0")
        try Subprocess.run([
            "ffmpeg", "-nostdin", "-loglevel", "error", "-f", "x11grab", "-draw_mouse", "0", "-video_size", "\(size)",
            "-i", server.display, "-frames:v", "1", "-pix_fmt", "bgr0", "-f", "rawvideo", "-y", path,
        ])
        let pixels = try contents(of: path)
        var picture = NV12Picture(size: size)
        let layout = picture.layout
        picture.withMutablePlanes { luma, chroma in
            NV12Converter(from: .bgrx, kernels: .portable).convert(
                pixels.span.bytes,
                stride: size.width * 4,
                size: size,
                luma: &luma,
                chroma: &chroma,
                layout: layout
            )
        }
        return picture.withPlanes { luma, chroma in
            Planes(luma: luma.withUnsafeBytes { [UInt8]($0) }, chroma: chroma.withUnsafeBytes { [UInt8]($0) })
        }
    }
}
