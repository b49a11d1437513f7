import FoundationEssentials
import Glibc
import TestSupport
import Testing

extension Command {
    /// The program of the pages.
    @Suite struct ExampleTests {
        private static let path = "\(TestPrograms.repository)/docs/examples/live_view.py"

        @Test func theExampleDoesWhatItSays() throws {
            let web = try WebBroadcast("--viewers-control", "--talkback", "on")
            let counter = try draw("counter", on: web.server, "--fps", "10")
            let viewer = try Subprocess(web.network.atViewer(Counterparts.python + [Self.path, web.page, "30"]))
            #expect(try viewer.wait() == .code(0), "\(viewer.errorOutput)")
            let lines = viewer.outputLines
            #expect(
                lines.prefix(5) == [
                    "started, for 30 s", "sees 1280 720", "extended, to 60 s",
                    "shows the upper left quarter to all", "speaks: granted",
                ],
                "\(lines)"
            )
            #expect(lines.last?.hasPrefix("stopped, after ") ?? false)
            #expect(try web.broadcast.run("status", "--json").output.contains("\"viewport\":[0,0,640,360]"))
            counter.stop()
        }

        /// It says in a sentence what was refused.
        @Test func theExampleTellsOfARefusal() throws {
            let web = try WebBroadcast()
            let viewer = try Subprocess(
                web.network.atViewer(Counterparts.python + [Self.path, "\(web.origin)/#wrong"])
            )
            #expect(try viewer.wait() == .code(1))
            #expect(viewer.errorOutput.hasPrefix("POST whep: 401, "), "\(viewer.errorOutput)")
        }
    }
}
