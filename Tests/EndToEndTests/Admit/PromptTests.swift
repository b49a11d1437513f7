import Foundation
import Glibc
import TestSupport
import Testing

extension Admit {
    /// A person who shares is asked who may look in.
    @Suite struct PromptTests {
        private let network: Network
        private let server: XServer
        private let folder: TemporaryDirectory
        private static let environment = ["ORIEL_TOKEN": WebBroadcast.token, "DBUS_SESSION_BUS_ADDRESS": ""]

        init() throws {
            network = try Network()
            server = try XServer()
            folder = try TemporaryDirectory(of: .shared)
        }

        private var broadcast: [String] { ["--dir", folder.file("bridge")] }
        private var state: String { folder.file("state") }

        /// The command line of `oriel share`.
        private func share(_ arguments: String...) -> [String] {
            [Programs.oriel, "share", "--display", server.display, "--answer-timeout", "600"] + broadcast + arguments
        }

        /// Runs it in the foreground of a terminal.
        private func atTerminal(_ command: [String], typing steps: [String]) throws -> Subprocess {
            let typist = ["python3", Counterparts.path("typist.py")] + steps + ["--"]
            let process = try Subprocess(
                network.atSender(typist + command),
                environment: Self.environment.merging(["XDG_STATE_HOME": state, "XDG_RUNTIME_DIR": ""]) { $1 }
            )
            try process.wait(until: "it serves") { process.errorOutput.contains("http://") }
            return process
        }

        private func view() throws -> Subprocess {
            try Counterparts.viewer(
                .wrtc,
                of: "http://\(Network.senderAddress):8080/whep",
                token: WebBroadcast.token,
                in: network,
                ["--frames", "1", "--seconds", "300"]
            )
        }

        @Test func anAnswerIsTypedAtTheTerminal() throws {
            let terminal = try atTerminal(
                share("--accept", "ask"),
                typing: [
                    "let in somebody", "n", "is not let in", "", "let in somebody", "what?", "let in somebody", "y",
                    "\(Network.viewerAddress) left", "^C",
                ]
            )
            #expect(try Counterparts.report(view()).status == 403)
            #expect(try Counterparts.report(view()).frames >= 1, "\(terminal.errorOutput)")
            #expect(try terminal.wait() == .code(0))
            #expect(terminal.output == "exit 0\n", "\(terminal.errorOutput)")
        }

        /// Whoever ends the input of the terminal is told how to answer.
        @Test func theEndOfInputIsTold() throws {
            let terminal = try atTerminal(
                share("--accept", "ask"),
                typing: ["let in somebody", "^D", "input has ended: answer with oriel accept", "^C"]
            )
            let viewer = try view()
            defer { viewer.kill(SIGKILL) }
            #expect(try terminal.wait() == .code(0))
            #expect(terminal.output == "exit 0\n", "\(terminal.errorOutput)")
        }

        /// The command answers first; the question goes, and the next one comes.
        @Test func anAnswerFromElsewhereClosesTheQuestion() throws {
            let terminal = try atTerminal(
                share("--accept", "ask"),
                typing: ["is not let in", "", "let in", "y", "\(Network.viewerAddress) left", "^C"]
            )
            let first = try view()
            try terminal.wait(until: "it is asked") { terminal.errorOutput.contains("let in somebody") }
            let second = try view()
            try terminal.wait(until: "both knock") {
                terminal.errorOutput.ranges(of: "asks to look in").count == 2
            }
            #expect(try CommandResult([Programs.oriel, "reject", "1"] + broadcast).code == 0)
            #expect(try Counterparts.report(first).status == 403)
            #expect(try Counterparts.report(second).frames >= 1, "\(terminal.errorOutput)")
            #expect(try terminal.wait() == .code(0))
            #expect(terminal.output == "exit 0\n", "\(terminal.errorOutput)")
        }

        /// In the background nothing is read, and nothing stops it.
        @Test func aTerminalThatBelongsToOthersIsLeftAlone() throws {
            let terminal = try Subprocess(
                network.atSender(
                    ["python3", Counterparts.path("terminal.py"), "got no answer"]
                        + share("--accept", "ask", "--answer-timeout", "2")
                ),
                environment: Self.environment
            )
            var answered: Int?
            try wait(until: "a viewer was not answered") {
                answered = try Counterparts.report(view()).status
                return answered == 503
            }
            #expect(try terminal.wait() == .code(0), "\(terminal.errorOutput)")
            #expect(terminal.output == "exit 0\n" && !terminal.errorOutput.contains("let in somebody"))
        }

        /// Who was let in for good at the terminal need not ask in the next broadcast, until forgotten.
        @Test func whoIsKnownNeedNotAskAgain() throws {
            let page = "http://\(Network.senderAddress):8080/#\(WebBroadcast.token)"
            func run(_ words: String...) throws -> CommandResult {
                try CommandResult([Programs.oriel] + words, environment: ["XDG_STATE_HOME": state])
            }
            let browser = try network.browser(.firefox)
            var terminal = try atTerminal(share("--accept", "known"), typing: ["let in \"Ann\"", "a"])
            try browser.open(page)
            try browser.knock(as: "Ann")
            try browser.wait(forState: "live")
            #expect(try run("stop", "--dir", folder.file("bridge")).code == 0)
            #expect(try terminal.wait() == .code(0), "\(terminal.errorOutput)")
            #expect(try run("known").output.hasPrefix("Ann, since 20"))
            terminal = try atTerminal(share("--accept", "known"), typing: ["let in \"Ann\"", "^C"])
            try terminal.wait(until: "Ann is back") {
                terminal.errorOutput.contains("viewer 1 (\"Ann\") looks in")
            }
            #expect(!terminal.errorOutput.contains("asks to look in"))
            let unknown = try run("forget", "Bob", "--dir", folder.file("bridge"))
            #expect(
                unknown.code == 1 && unknown.errorOutput.contains("nobody is known as Bob"),
                "\(unknown.errorOutput)"
            )
            #expect(try run("known").output.hasPrefix("Ann, "))
            #expect(try run("kick", "1", "--dir", folder.file("bridge")).code == 0)
            try browser.wait(forState: "kicked")
            #expect(try run("known").output.isEmpty)
            try browser.open("about:blank")
            try browser.open(page)
            try browser.knock(as: "Ann")
            #expect(try terminal.wait() == .code(0), "\(terminal.errorOutput)")
            #expect(terminal.output == "exit 0\n")
        }

        /// On a bus of its own, with a notification server.
        ///
        /// - Parameter server: its command line, as a shell reads it.
        /// - Returns: what the server printed.
        private func withNotifications(by server: String, _ body: (Subprocess) throws -> Void) throws -> String {
            let shell = """
                \(server) > "$1" 2>&1 & server=$!; shift
                until dbus-send --session --print-reply --dest=org.freedesktop.DBus / \
                    org.freedesktop.DBus.GetNameOwner string:org.freedesktop.Notifications > /dev/null 2>&1; do sleep 0.05; done
                "$@"
                kill $server
                """
            let log = folder.file("notifications")
            let command = ["dbus-run-session", "--", "sh", "-c", shell, "sh", log]
            let user = OrdinaryUser.shared
            let shared = try Subprocess(
                network.atSender(user.running(command + share("--accept", "ask"))),
                environment: ["ORIEL_TOKEN": WebBroadcast.token]
            )
            do {
                // What began the bus passes no signal on.
                defer { _ = try? CommandResult([Programs.oriel, "stop"] + broadcast) }
                try shared.wait(until: "it serves") { shared.output.contains("http://") }
                try body(shared)
            }
            _ = try shared.wait()
            return try String(decoding: contents(of: log), as: UTF8.self)
        }

        /// The server clicks a button. Returns what it was told.
        private func withNotifications(_ button: String, _ body: (Subprocess) throws -> Void) throws -> [[String: Any]]
        {
            let server = "/usr/bin/python3 '\(Counterparts.path("notifications.py"))' \(button)"
            return try withNotifications(by: server, body).split(separator: "\n").compactMap {
                try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
            }
        }

        @Test(arguments: [("accept", 201), ("reject", 403)])
        func aButtonOfTheDesktopAnswers(button: String, status: Int) throws {
            let told = try withNotifications(button) { shared in
                let viewer = try view()
                try shared.wait(until: "it is answered") { shared.errorOutput.contains("let in") }
                #expect(try Counterparts.report(viewer).status == status, "\(shared.errorOutput)")
            }
            #expect(told.first?["body"] as? String == "somebody from \(Network.viewerAddress)\noriel accept 1")
            #expect(told.first?["actions"] as? [String] == ["accept", "Accept", "reject", "Reject"])
            #expect(told.first?["timeout"] as? Int == 0, "it stays as long as somebody waits")
        }

        /// dunst, a notification server of desktops, shows it, takes it away, and passes a click on.
        @Test func aRealServerShowsIt() throws {
            let settings = folder.file("dunstrc")
            // Of two buttons dunst has a menu choose, here a program.
            try Data("[global]\ndmenu = grep -m 1 Accept\nmouse_left_click = do_action\n".utf8)
                .write(to: URL(filePath: settings))
            chmod(settings, 0o644)
            let dunst = "env DISPLAY=\(server.display) dunst -config '\(settings)'"
            /// Whether it is there, after which xdotool does more with its window.
            func isShown(_ more: String...) throws -> Bool {
                let search = ["xdotool", "search", "--onlyvisible", "--class", "Dunst"]
                return try CommandResult(search + more, environment: server.environment).code == 0
            }
            _ = try withNotifications(by: dunst) { shared in
                let rejected = try view()
                try wait(until: "it is shown: \(shared.errorOutput)") { try isShown() }
                #expect(try CommandResult([Programs.oriel, "reject", "1"] + broadcast).code == 0)
                try wait(until: "it is taken away") { try !isShown() }
                #expect(try Counterparts.report(rejected).status == 403)
                let accepted = try view()
                try wait(until: "a click lets in: \(shared.errorOutput)") {
                    _ = try isShown("mousemove", "--window", "%1", "20", "20", "click", "1")
                    return accepted.status() != nil
                }
                #expect(try Counterparts.report(accepted).frames >= 1, "\(shared.errorOutput)")
            }
        }

        @Test func anAnswerFromElsewhereTakesTheNotificationAway() throws {
            let browser = try network.browser(.firefox)
            let told = try withNotifications("none") { shared in
                try browser.open("http://\(Network.senderAddress):8080/#\(WebBroadcast.token)")
                try browser.knock(as: "<b>Ann & Co</b>")
                let log = folder.file("notifications")
                try wait(until: "it is shown") { try contents(of: log).contains(UInt8(ascii: "{")) }
                #expect(try CommandResult([Programs.oriel, "reject", "1"] + broadcast).code == 0)
                try browser.wait(forState: "rejected")
                try wait(until: "it is gone") {
                    try String(decoding: contents(of: log), as: UTF8.self).contains("closed")
                }
            }
            let body =
                "\"&lt;b&gt;Ann &amp; Co&lt;/b&gt;\" from \(Network.viewerAddress) (\"for the demo\")\noriel accept 1"
            #expect(told.first?["body"] as? String == body)
        }
    }
}
