import Glibc
import TestSupport
import Testing

extension Capture {
    /// One window: resized, moved, hidden, gone.
    @Suite struct SharedWindowTests {
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
            try capture.wait(until: "it says so") { capture.errorOutput.contains("is gone for good") }
            #expect(try broadcast.run("status").output.hasPrefix("source_lost"))
            #expect(try broadcast.run("source", "--window", id).code == 0)
            try broadcast.wait(forState: "active")
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
            try capture.wait(until: "it says so") {
                capture.errorOutput.contains(" is hidden; the last picture stays until it is back")
            }
            try sender.wait(until: "the sender says so") {
                sender.errorOutput.contains("the source is not there; the last picture stays until it is back")
            }
            _ = try server.xdotool("windowmap", id)
            try capture.wait(until: "it is back") { capture.errorOutput.contains(" is back: ") }
            for program in [sender, capture, logo] { program.stop() }
        }
    }
}

/// A window of 120x90 at (300, 200).
func openLogo(on server: XServer) throws -> Subprocess {
    try Subprocess(["xlogo", "-geometry", "120x90+300+200"], environment: server.environment)
}

/// Waits until it is there.
func identifier(ofLogoOn server: XServer) throws -> String {
    let windows = try server.xdotool("search", "--sync", "--onlyvisible", "--class", "xlogo")
    return String(windows.split(separator: "\n")[0])
}
