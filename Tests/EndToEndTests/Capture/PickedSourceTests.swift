import Glibc
import TestSupport
import Testing

extension Capture {
    /// Sources that are chosen on the screen, without a window manager.
    @Suite struct PickedSourceTests {
        private let server: XServer
        private let broadcast: Broadcast
        private let capture: Subprocess

        init() throws {
            server = try XServer(.virtual(width: 800, height: 600))
            broadcast = try Broadcast(on: server.display)
            capture = try broadcast.start("--no-cursor")
        }

        /// Runs a command in which something is chosen. Returns when it waits for that.
        private func pick(_ words: String...) throws -> Subprocess {
            let command = [Programs.oriel, words[0], "--dir", broadcast.directory, "--pick"] + words.dropFirst()
            let picker = try Subprocess(command, environment: ["DISPLAY": server.display])
            try picker.wait(until: "it names what is under the pointer") { try !marks().isEmpty }
            return picker
        }

        private func marks() throws -> String {
            (try? server.xdotool("search", "--onlyvisible", "--name", "^oriel mark$")) ?? ""
        }

        private func shows(_ text: String) throws {
            try wait(until: "the status says \(text)") { try broadcast.run("status").output.contains(text) }
        }

        @Test func aClickAndADragAndKeysChoose() throws {
            let logo = try Subprocess(["env", "DISPLAY=\(server.display)", "xlogo", "-geometry", "120x90+300+200"])
            try server.xdotool("search", "--sync", "--onlyvisible", "--class", "xlogo")
            try server.xdotool("mousemove", "350", "240")
            var picker = try pick("source")
            try server.xdotool("click", "1")
            #expect(try picker.wait() == .code(0), "\(picker.errorOutput)")
            try shows("window 0x")
            try shows("120x90,")
            try wait(until: "nothing is left on the screen") { try marks().isEmpty }

            picker = try pick("source")
            try server.xdotool("mousemove", "100", "50", "mousedown", "1", "mousemove", "150", "80")
            try server.xdotool("mousemove", "419", "249", "mouseup", "1")
            #expect(try picker.wait() == .code(0), "\(picker.errorOutput)")
            try shows("region 320x200+100+50 of")

            picker = try pick("source")
            try server.xdotool("key", "s")
            #expect(try picker.wait() == .code(0), "\(picker.errorOutput)")
            try shows("screen of")

            picker = try pick("source")
            try server.xdotool("key", "Escape")
            #expect(try picker.wait() == .code(1))
            #expect(picker.errorOutput == "oriel: nothing was chosen\n")
            try shows("screen of")
            logo.stop()
        }

        /// Of what is shared, in its pixels.
        @Test func aPartIsDragged() throws {
            #expect(try broadcast.run("source", "--region", "640x360+80+60").code == 0)
            let sender = try Subprocess(
                [
                    Programs.oriel, "attach", "web", "--dir", broadcast.directory, "--listen",
                    "127.0.0.1:\(Ports.free())",
                ],
                environment: ["ORIEL_TOKEN": WebBroadcast.token, "DISPLAY": server.display]
            )
            try sender.wait(until: "the sender serves") { sender.outputLines.contains { $0.hasPrefix("http") } }
            let picker = try pick("viewport")
            // Its begin is beyond what is shared.
            try server.xdotool("mousemove", "20", "100", "mousedown", "1", "mousemove", "100", "200")
            try server.xdotool("mousemove", "279", "259", "mouseup", "1")
            #expect(try picker.wait() == .code(0), "\(picker.errorOutput)")
            #expect(try broadcast.run("status", "--json").output.contains("\"viewport\":[0,40,200,200]"))
            sender.stop()
        }

        @Test func aHeldPointerIsTold() throws {
            let first = try pick("source")
            let second = try Subprocess(
                [Programs.oriel, "source", "--dir", broadcast.directory, "--pick"],
                environment: ["DISPLAY": server.display]
            )
            #expect(try second.wait() == .code(1))
            #expect(second.errorOutput.contains("another program has the pointer"), "\(second.errorOutput)")
            first.kill(SIGINT)
            #expect(try first.wait() == .code(1))
        }
    }
}
