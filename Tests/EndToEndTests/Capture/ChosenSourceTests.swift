import FrameBridge
import Posix
import TestSupport
import Testing
import Time

extension Capture {
    /// The screen, a region, a monitor or a window: as it was chosen, and as it becomes.
    @Suite struct ChosenSourceTests {
        @Test func listNamesMonitorsAndWindows() throws {
            let server = try XServer()
            let list = try CommandResult([Programs.oriel, "list", "--display", server.display, "--json"])
            #expect(list.code == 0)
            #expect(list.output.contains("\"width\":640"))
            #expect(list.output.contains("\"windows\":["))
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
            try broadcast.wait(forState: "active")
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

        @Test func aMonitorThatGoesLeavesItsPictureAndIsFoundAgain() throws {
            let server = try XServer(.dummy)
            try server.xrandr("--addmode", "DUMMY1", "1280x720")
            try server.xrandr("--output", "DUMMY1", "--mode", "1280x720", "--right-of", "DUMMY0")
            let broadcast = try Broadcast(on: server.display)
            let capture = try broadcast.start("--monitor", "DUMMY1")
            let sender = try broadcast.attach(toPort: Ports.free())
            try server.xrandr("--output", "DUMMY1", "--off")
            try broadcast.wait(forState: "source_lost")
            // The pointer still moves, on the screen that is left.
            for step in 0..<60 {
                try server.xdotool("mousemove", "\(step)", "\(step)")
                #expect(try broadcast.run("status").output.hasPrefix("source_lost"))
            }
            let path = broadcast.folder.file("kept.png")
            #expect(try broadcast.run("inspect", "--png", path).code == 0)
            try server.xrandr("--output", "DUMMY1", "--mode", "1280x720", "--right-of", "DUMMY0")
            try broadcast.wait(forState: "active")
            #expect(sender.status() == nil)
            sender.stop()
            capture.stop()
        }
    }
}
