import FrameBridge
import Glibc
import Posix
import TestSupport
import Testing
import Time

/// The two processes as a person meets them: started, asked, stopped.
@Suite(.measured) struct LifeCycleTests {
    @Test(arguments: [SIGTERM, SIGINT])
    func aSignalEndsBothProcessesWithZero(signal: Int32) throws {
        let server = try XServer()
        let broadcast = try Broadcast(on: server.display)
        let capture = try broadcast.start()
        let sender = try broadcast.attach(toPort: Ports.free())
        sender.kill(signal)
        #expect(try sender.wait() == .code(0))
        capture.kill(signal)
        #expect(try capture.wait() == .code(0))
        let status = try broadcast.run("status")
        #expect(status.code == 75)
        #expect(status.output.hasPrefix("stopped"))
    }

    @Test func stopEndsTheSendersToo() throws {
        let server = try XServer()
        let broadcast = try Broadcast(on: server.display)
        let capture = try broadcast.start()
        let sender = try broadcast.attach(toPort: Ports.free())
        #expect(try broadcast.run("stop").code == 0)
        #expect(try capture.wait() == .code(0))
        #expect(try sender.wait() == .code(0))
        #expect(sender.errorOutput.contains("the broadcast has ended"))
        #expect(try broadcast.run("stop").code == 75)
    }

    @Test func detachedStartReturnsOnceTheBroadcastIsLive() throws {
        let server = try XServer()
        let broadcast = try Broadcast(on: server.display)
        let started = try broadcast.run("start", "--display", server.display, "--detach")
        #expect(started.code == 0)
        let status = try broadcast.run("status", "--json")
        #expect(status.code == 0)
        #expect(status.output.contains("\"state\":\"active\""))
        #expect(status.output.contains("\"width\":640"))
        #expect(try broadcast.run("stop").code == 0)
    }

    @Test func aDetachedStartThatFailsSaysWhy() throws {
        let broadcast = try Broadcast(on: ":1")
        let started = try broadcast.run("start", "--display", ":4711", "--detach")
        #expect(started.code == 69)
        #expect(started.errorOutput.contains(":4711"))
    }

    @Test func aSenderWaitsForItsBroadcast() throws {
        let server = try XServer()
        let broadcast = try Broadcast(on: server.display)
        let sender = try Subprocess([
            Programs.oriel, "attach", "rtp://127.0.0.1:\(Ports.free())", "--dir", broadcast.directory, "--sdp",
            broadcast.sdp,
        ])
        try wait(until: "the sender says that it waits") { sender.errorOutput.contains("waiting for it") }
        let capture = try broadcast.start()
        try wait(until: "the sender sends") { access(broadcast.sdp, F_OK) == 0 }
        sender.kill(SIGTERM)
        #expect(try sender.wait() == .code(0))
        capture.stop()
    }

    /// A broadcast that has no picture keeps nobody waiting who does not want to.
    @Test func aSenderOfABroadcastWithoutAPictureCanBeEnded() throws {
        let folder = try TemporaryDirectory()
        let directory = try BridgeDirectory(path: folder.file("bridge"), create: true)
        let writer = try FrameWriter(directory: directory, source: "nothing", framesPerSecond: 30)
        let call = "rtp://127.0.0.1:\(try Ports.free())"
        let command = [Programs.orielOfTests, "attach", call, "--dir", directory.path]
        let impatient = try CommandResult(command + ["--no-wait"])
        #expect(impatient.code == 75)
        #expect(impatient.errorOutput.contains("no picture yet"))
        let sender = try Subprocess(command)
        try wait(until: "the sender says that it waits") { sender.errorOutput.contains("no picture yet") }
        sender.kill(SIGINT)
        #expect(try sender.wait() == .code(0))
        try writer.stop()
    }

    /// A screen that somebody paused shows nothing new, whatever is drawn on it.
    @Test(arguments: [[String](), ["--freeze"]])
    func aPausedScreenShowsNothingNew(freeze: [String]) throws {
        let server = try XServer()
        let broadcast = try Broadcast(on: server.display)
        let capture = try broadcast.start("--no-cursor")
        func picture() throws -> [UInt8] {
            let path = broadcast.folder.file("picture.png")
            #expect(try broadcast.run("inspect", "--png", path).code == 0)
            return try contents(of: path)
        }
        func paint(_ colour: String) throws {
            try Subprocess.run(["xsetroot", "-solid", colour], environment: server.environment)
        }
        let unpainted = try picture()
        try paint("red")
        var red = unpainted
        try wait(until: "red shows, and all of it") {
            let next = try picture()
            defer { red = next }
            return next != unpainted && next == red
        }
        #expect(try CommandResult([Programs.oriel, "pause", "--dir", broadcast.directory] + freeze).code == 0)
        let paused = try picture()
        #expect((paused == red) == !freeze.isEmpty)
        try paint("blue")
        // Longer than the sweep that looks for missed damage.
        usleep(1_500_000)
        #expect(try picture() == paused)
        #expect(try broadcast.run("status").output.hasPrefix("paused"))
        #expect(try broadcast.run("resume").code == 0)
        try wait(until: "the new colour shows") { try picture() != paused }
        #expect(try picture() != red)
        capture.stop()
    }

    @Test func listNamesMonitorsAndWindows() throws {
        let server = try XServer()
        let list = try CommandResult([Programs.oriel, "list", "--display", server.display, "--json"])
        #expect(list.code == 0)
        #expect(list.output.contains("\"width\":640"))
        #expect(list.output.contains("\"windows\":["))
    }

    @Test func anXServerThatComesBackIsANewGeneration() throws {
        var server = try XServer(display: ":\(Int.random(in: 1000..<50_000))")
        let broadcast = try Broadcast(on: server.display)
        let capture = try broadcast.start()
        func generation() throws -> String {
            let fields = try broadcast.run("inspect", "--json").output.split(separator: ",")
            return String(try #require(fields.first { $0.contains("\"generation\":") }))
        }
        let before = try generation()
        try server.crash()
        try wait(until: "the source is lost") { try broadcast.run("status").output.hasPrefix("source_lost") }
        #expect(try generation() == before)
        server = try XServer(display: broadcast.display)
        try wait(until: "the source is back") { try broadcast.run("status").output.hasPrefix("active") }
        #expect(try generation() != before)
        #expect(capture.status() == nil)
        capture.stop()
    }

    @Test func aResizedScreenGoesOnInItsNewSize() throws {
        let server = try XServer(.vnc(width: 800, height: 600))
        let broadcast = try Broadcast(on: server.display)
        let capture = try broadcast.start()
        let sender = try broadcast.attach(toPort: Ports.free())
        for size in ["1280x1024", "1001x701", "1920x1080"] {
            try server.xrandr("--fb", size)
            let even = size == "1001x701" ? "1002x702" : size
            try wait(until: "the broadcast has \(even)") {
                try broadcast.run("status").output.contains(even)
            }
        }
        #expect(sender.status() == nil)
        capture.stop()
        #expect(try sender.wait() == .code(0))
    }

    @Test func theSourceChangesWithoutANewCall() throws {
        let server = try XServer()
        let logo = try openLogo(on: server)
        let broadcast = try Broadcast(on: server.display)
        let capture = try broadcast.start("--region", "320x200+10+20")
        let sender = try broadcast.attach(toPort: Ports.free())
        func shows(_ text: String) throws {
            try wait(until: "the status says \(text)") { try broadcast.run("status").output.contains(text) }
        }
        try shows("320x200")
        #expect(try broadcast.run("source", "--region", "200x100+5+5").code == 0)
        try shows("region 200x100+5+5 of")
        try shows("200x100,")

        let unknown = try broadcast.run("source", "--monitor", "nowhere")
        #expect(unknown.code == 69 || unknown.code == 1)
        #expect(unknown.errorOutput.contains("nowhere"))
        try shows("200x100,")

        let id = try identifier(ofLogoOn: server)
        #expect(try broadcast.run("source", "--window", id).code == 0)
        try shows("120x90,")
        try server.xdotool("windowunmap", id)
        try shows("source_lost")
        try server.xdotool("windowmap", id)
        try shows("active")

        #expect(try broadcast.run("source").code == 0)
        try shows("640x480,")
        #expect(sender.status() == nil && capture.status() == nil)
        for program in [sender, capture, logo] { program.stop() }
    }

    /// Who comes next must not see what was shown before.
    /// Invariant: idle.
    @Test func theSourceChangesAlsoWhileNobodyWatches() throws {
        let server = try XServer()
        let broadcast = try Broadcast(on: server.display)
        let statistics = StatisticsLines(broadcast.folder.file("capture.json"))
        let capture = try broadcast.start("--stats", statistics.path)
        try statistics.waitForRest("looks", most: 0)
        #expect(try broadcast.run("source", "--region", "200x100+5+5").code == 0)
        #expect(try broadcast.run("status").output.contains("200x100,"))
        capture.stop()
    }

    /// What is refused hides nothing: the picture that stays may be one of a source that is lost.
    @Test func aSourceThatIsRefusedMovesNoHorizon() throws {
        let server = try XServer(.virtual(width: 1280, height: 720))
        let broadcast = try Broadcast(on: server.display, isOfTests: true)
        let command = [broadcast.oriel, "start", "--display", server.display, "--dir", broadcast.directory]
        let limited = ["sh", "-c", "trap '' XFSZ; exec prlimit --fsize=3900000 \"$@\"", "sh"]
        let capture = try Subprocess(limited + command + ["--region", "320x200+0+0"])
        try wait(until: "the broadcast is live") { try broadcast.run("status").output.hasPrefix("active") }
        let bridge = try BridgeDirectory(path: broadcast.directory, create: false)
        #expect(try broadcast.run("source", "--region", "322x200+0+0").code == 0)
        let horizon = try #require(try BridgeInspection(bridge).horizon)
        let refused = try broadcast.run("source")
        #expect(refused.code == 1 && refused.errorOutput.contains("frames"), "\(refused.errorOutput)")
        #expect(try BridgeInspection(bridge).horizon == horizon)
        #expect(try broadcast.run("status").output.contains("region 322x200+0+0"))
        capture.stop()
    }

    /// With the answer, and not an instant later.
    /// Invariant: paused.
    @Test func whatWasShownBeforeIsGoneOnceAnotherSourceIsGranted() throws {
        let server = try XServer()
        let broadcast = try Broadcast(on: server.display, isOfTests: true)
        let capture = try broadcast.start("--region", "320x200+0+0")
        let bridge = try BridgeDirectory(path: broadcast.directory, create: false)
        func shows(x: Int, since instant: Instant) throws -> Bool {
            let seen = try BridgeInspection(bridge)
            let isThere = seen.slots.allSatisfy {
                $0.info.map { $0.source.x == x && $0.capturedAt >= instant } ?? false
            }
            return isThere && seen.horizon ?? .nanoseconds(0) >= instant
        }
        for x in 1...10 {
            let asked: Instant = MonotonicClock.now()
            #expect(try broadcast.run("source", "--region", "320x200+\(x)+0").code == 0)
            #expect(try shows(x: x, since: asked))
        }
        // A frozen picture stays as long as the pause.
        #expect(try broadcast.run("pause", "--freeze").code == 0)
        #expect(try broadcast.run("source", "--region", "320x200+20+0").code == 0)
        #expect(try shows(x: 10, since: .nanoseconds(0)))
        let asked: Instant = MonotonicClock.now()
        #expect(try broadcast.run("resume").code == 0)
        #expect(try BridgeInspection(bridge).horizon ?? .nanoseconds(0) >= asked)
        try wait(until: "the new source is in all slots") { try shows(x: 20, since: asked) }
        capture.stop()
    }

    @Test func aWindowIsFollowedWhateverItsSize() throws {
        let server = try XServer()
        let logo = try openLogo(on: server)
        let id = try identifier(ofLogoOn: server)
        let broadcast = try Broadcast(on: server.display)
        let capture = try broadcast.start("--window", id, "--fps", "240")
        let sender = try broadcast.attach(toPort: Ports.free())
        for _ in 0..<20 {
            let sizes = (0..<20).flatMap { _ in
                ["windowsize", id, "\(Int.random(in: 10...500))", "\(Int.random(in: 10...400))"]
            }
            try Subprocess.run(["xdotool"] + sizes, environment: server.environment)
        }
        try server.xdotool("windowsize", id, "222", "144")
        try wait(until: "the last size is there: \(capture.errorOutput)") {
            try broadcast.run("status").output.contains("222x144,")
        }
        for program in [sender, capture, logo] {
            #expect(program.status() == nil)
            program.stop()
        }
    }

    @Test func aWindowThatMovesAwayFromThePointerLeavesItBehind() throws {
        let server = try XServer()
        let logo = try openLogo(on: server)
        let id = try identifier(ofLogoOn: server)
        let broadcast = try Broadcast(on: server.display)
        try server.xdotool("mousemove", "5", "400")
        let capture = try broadcast.start("--window", id)
        let path = broadcast.folder.file("picture.png")
        func picture() throws -> [UInt8] {
            #expect(try broadcast.run("inspect", "--png", path).code == 0)
            return try contents(of: path)
        }
        let sender = try broadcast.attach(toPort: Ports.free())
        var clean = try picture()
        try wait(until: "the window is drawn") {
            usleep(300_000)
            let next = try picture()
            defer { clean = next }
            return try next == clean && Set(pixels(ofPicture: path)).count > 1
        }
        try server.xdotool("mousemove", "340", "240")
        try wait(until: "the pointer shows") { try picture() != clean }
        try server.xdotool("windowmove", id, "10", "20")
        try wait(until: "the pointer is gone") { try picture() == clean }
        try server.xdotool("windowmove", id, "300", "200")
        try wait(until: "the pointer is back") { try picture() != clean }
        for program in [sender, capture, logo] { program.stop() }
    }

    /// Another window may have its identifier.
    @Test func aWindowIsGoneWithItsXServer() throws {
        var server = try XServer(display: ":\(Int.random(in: 1000..<50_000))")
        let first = try openLogo(on: server)
        let broadcast = try Broadcast(on: server.display)
        let capture = try broadcast.start("--window", identifier(ofLogoOn: server))
        try server.crash()
        try first.wait()
        server = try XServer(display: broadcast.display)
        let second = try openLogo(on: server)
        let id = try identifier(ofLogoOn: server)
        try wait(until: "it says so") { capture.errorOutput.contains("is gone for good") }
        #expect(try broadcast.run("status").output.hasPrefix("source_lost"))
        #expect(try broadcast.run("source", "--window", id).code == 0)
        try wait(until: "the window shows") { try broadcast.run("status").output.hasPrefix("active") }
        for program in [capture, second] { program.stop() }
    }

    /// It is there, and may come back.
    @Test func aWindowThatIsHiddenIsNotCalledGone() throws {
        let server = try XServer()
        let logo = try openLogo(on: server)
        let id = try identifier(ofLogoOn: server)
        let broadcast = try Broadcast(on: server.display)
        let capture = try broadcast.start("--window", id)
        let sender = try broadcast.attach(toPort: Ports.free())
        _ = try server.xdotool("windowunmap", id)
        try wait(until: "it says so: \(capture.errorOutput)") {
            capture.errorOutput.contains(" is hidden; the last picture stays until it is back")
        }
        try wait(until: "the sender says so: \(sender.errorOutput)") {
            sender.errorOutput.contains("the source is not there; the last picture stays until it is back")
        }
        _ = try server.xdotool("windowmap", id)
        try wait(until: "it is back: \(capture.errorOutput)") { capture.errorOutput.contains(" is back: ") }
        for program in [sender, capture, logo] { program.stop() }
    }

    @Test func aMonitorThatGoesLeavesItsPictureAndIsFoundAgain() throws {
        let server = try XServer(.dummy)
        try server.xrandr("--addmode", "DUMMY1", "1280x720")
        try server.xrandr("--output", "DUMMY1", "--mode", "1280x720", "--right-of", "DUMMY0")
        let broadcast = try Broadcast(on: server.display)
        let capture = try broadcast.start("--monitor", "DUMMY1")
        let sender = try broadcast.attach(toPort: Ports.free())
        try server.xrandr("--output", "DUMMY1", "--off")
        try wait(until: "the source is lost") { try broadcast.run("status").output.hasPrefix("source_lost") }
        // The pointer still moves, on the screen that is left.
        for step in 0..<60 {
            try server.xdotool("mousemove", "\(step)", "\(step)")
            #expect(try broadcast.run("status").output.hasPrefix("source_lost"))
        }
        let path = broadcast.folder.file("kept.png")
        #expect(try broadcast.run("inspect", "--png", path).code == 0)
        try server.xrandr("--output", "DUMMY1", "--mode", "1280x720", "--right-of", "DUMMY0")
        try wait(until: "the source is back") { try broadcast.run("status").output.hasPrefix("active") }
        #expect(sender.status() == nil)
        sender.stop()
        capture.stop()
    }
}

/// A window of 120x90 at (300, 200).
private func openLogo(on server: XServer) throws -> Subprocess {
    try Subprocess(["xlogo", "-geometry", "120x90+300+200"], environment: server.environment)
}

/// Waits until it is there.
private func identifier(ofLogoOn server: XServer) throws -> String {
    let windows = try server.xdotool("search", "--sync", "--onlyvisible", "--class", "xlogo")
    return String(windows.split(separator: "\n")[0])
}
