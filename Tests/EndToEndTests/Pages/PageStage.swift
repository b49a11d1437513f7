import FoundationEssentials
import Glibc
import Posix
import TestSupport
import Time

/// Plays a section of a page: its reader types the commands, and others do their part.
final class PageStage {
    /// A command that runs until it is ended.
    private struct Running {
        let line: String
        let program: Subprocess

        var lines: [Substring] { program.outputLines + program.errorLines }
    }

    /// The token of the links on pages.
    private static let token = "DjR3aKq8ZxT5mPw7LbVnYc"
    /// What the files hold that pages name `token`, `pin` and `secret`.
    private static let secret = "correct-horse-battery-staple"

    private let network: PageNetwork
    private let folder: TemporaryDirectory
    private let display: XServer
    private let patience: Duration
    private var running: [Running] = []
    private var others: [String: Subprocess] = [:]
    private var sound: PulseServer?
    private var janus: Janus?
    private var relay: Relay?
    private var isOneAfterTheOther = false

    init(patience: Duration = TestSupport.patience) throws {
        self.patience = patience
        folder = try TemporaryDirectory(of: .shared)
        let made = try makeCertificate(for: PageNetwork.names, in: folder)
        for (file, name) in [(made.certificate, "fullchain.pem"), (made.key, "privkey.pem")] {
            rename(file, folder.file(name))
        }
        for name in ["token", "pin", "secret"] {
            try Data("\(Self.secret)\n".utf8).write(to: URL(filePath: folder.file(name)))
        }
        try Subprocess.run(["mkdir", "-p", "-m", "700"] + ["run", "state", "tools", "Sources"].map(folder.file))
        try Subprocess.run(["cp", "-r", "tools/readers", folder.file("tools")])
        try Subprocess.run(["cp", "-r", "Sources/COrielBridge", folder.file("Sources")])
        try Subprocess.run(["chown", "-R", "\(OrdinaryUser.shared.id):\(OrdinaryUser.shared.group)", folder.path])
        network = try PageNetwork(trusting: folder.file("fullchain.pem"))
        display = try XServer(.virtual(width: 1920, height: 1080))
    }

    deinit { _ = try? ask("stop") }

    /// What all that runs has said.
    var log: String { running.map { "$ \($0.line)\n\($0.lines.joined(separator: "\n"))" }.joined(separator: "\n") }

    func play(_ step: PageScript.Step) throws {
        switch step {
        case .run(let line, let host, let output): try run(line, at: host, printing: output)
        case .expect(let line): try wait(until: "this is printed: \(line)") { isPrinted(line, in: printed) }
        case .scene(let scene): try play(scene)
        }
    }

    /// Ends all commands by Ctrl-C, the last one first.
    func end() throws {
        try endCommands { _ in true }
        _ = try ask("stop")
    }

    // MARK: - Commands

    private func run(_ line: String, at host: PageNetwork.Host = .sharer, printing output: [String] = []) throws {
        let words = line.split(separator: " ").map(String.init)
        if words[0] == "oriel", words.count > 1, Self.goesOn(words) {
            try begin(line, verb: words[1], at: host, printing: output)
            return
        }
        if words.starts(with: ["oriel", "pair"]), words.count > 2 { return try pair(line, at: host, printing: output) }
        // What only asks may be asked again, until it is as the page says.
        let asksOnly = [
            "oriel status", "oriel list", "oriel sound", "oriel known", "oriel inspect",
            "oriel nearby --visible paired",
        ].contains(line)
        try wait(until: "\(line) prints \(output)\n\(log)") {
            let result = try CommandResult(command(line, at: host), timeout: patience)
            guard result.code == 0 else { throw Unexpected("exit code \(result.code ?? -1): \(result.errorOutput)") }
            let lines = (result.output + "\n" + result.errorOutput).split(separator: "\n")
            if output.allSatisfy({ isPrinted($0, in: lines) }) { return true }
            if !asksOnly { throw Unexpected("it printed \(lines)") }
            return false
        }
    }

    /// Whether a command of Oriel runs until it is ended.
    private static func goesOn(_ words: [String]) -> Bool {
        switch words[1] {
        case "share", "hear", "rooms": true
        case "pair": words.count == 2
        case "start": !words.contains("--detach")
        case "attach": !words.contains("--running") && !words.contains("--print")
        case "record": words.count == 2 || words[2].hasPrefix("--")
        default: false
        }
    }

    private func begin(_ line: String, verb: String, at host: PageNetwork.Host, printing output: [String]) throws {
        // A page that starts the same again shows another way to do so.
        if verb == "share" || verb == "start" || verb == "attach" && isOneAfterTheOther {
            try endCommands { $0.hasPrefix("oriel \(verb)") }
        }
        let begun = Running(line: line, program: try Subprocess(command("exec " + line, at: host)))
        running.append(begun)
        try wait(until: "\(line) works: \(begun.lines)") {
            if let exit = begun.program.status() { throw Unexpected("\(exit): \(begun.lines)") }
            return try output.allSatisfy { isPrinted($0, in: begun.lines) } && works(begun, verb)
        }
    }

    private func works(_ begun: Running, _ verb: String) throws -> Bool {
        switch verb {
        case "start": try ask("status").code == 0
        case "hear": try ask("sound").code == 0
        case "record": try ask("record", "status").code == 0
        case "pair": code(of: begun) != nil
        case "attach" where !begun.line.contains("attach web"):
            try ask("status", "--json").output.contains(#""state":"standing""#)
        default: begun.lines.contains { $0.hasPrefix("http") }
        }
    }

    /// The code that a device shows.
    private func code(of begun: Running) -> Substring? {
        begun.lines.last { $0.utf8.count == 7 && $0.allSatisfy { $0.isNumber || $0 == " " } }
    }

    /// The reader types the code that another device shows.
    private func pair(_ line: String, at host: PageNetwork.Host, printing output: [String]) throws {
        guard let index = running.lastIndex(where: { $0.line == "oriel pair" }), let code = code(of: running[index])
        else { throw Unexpected("no device shows a code: \(log)") }
        let result = try CommandResult(command("echo \(code) | \(line)", at: host), timeout: patience)
        let shown = output.filter { !$0.hasPrefix("Code shown by ") }
        guard result.output.split(separator: "\n").map(String.init) == shown else {
            throw Unexpected("it printed \(result.output) \(result.errorOutput)")
        }
        guard try running.remove(at: index).program.wait(timeout: patience) == .code(0) else {
            throw Unexpected("the other device: \(log)")
        }
    }

    private func endCommands(where isMeant: (String) -> Bool) throws {
        for begun in running.reversed() where isMeant(begun.line) {
            begun.program.kill(SIGINT)
            let exit = try begun.program.wait(timeout: patience)
            guard exit == .code(0) else { throw Unexpected("\(begun.line) ended with \(exit): \(begun.lines)") }
        }
        running.removeAll { isMeant($0.line) }
    }

    private func ask(_ words: String...) throws -> CommandResult {
        try CommandResult(command((["oriel"] + words).joined(separator: " "), at: .sharer), timeout: patience)
    }

    /// The command line of an ordinary user's shell on a host.
    private func command(_ line: String, at host: PageNetwork.Host) -> [String] {
        let programs = Programs.oriel.dropLast("/oriel".count)
        var environment = [
            "PATH=\(programs):/usr/local/bin:/usr/bin:/bin", "XDG_RUNTIME_DIR=\(folder.file("run"))",
            "XDG_STATE_HOME=\(folder.file(host == .sharer ? "state" : "state-\(host)"))", "DISPLAY=\(display.display)",
            "ORIEL_TOKEN=\(Self.token)",
            "DBUS_SESSION_BUS_ADDRESS=",
        ]
        environment += sound.map { ["PULSE_SERVER=\($0.address)"] } ?? []
        let shell = ["env"] + environment + ["bash", "-c", "cd \(folder.path) && \(line)"]
        return network.command(OrdinaryUser.shared.running(shell), at: host)
    }

    private var printed: [Substring] { running.flatMap(\.lines) }

    private func isPrinted(_ line: String, in lines: [Substring]) -> Bool {
        let shown = line.replacing("/run/user/1000", with: folder.file("run"))
        return lines.contains { PageScript.matches($0, shown) }
    }

    private func wait(until what: @autoclosure () throws -> String, _ condition: () throws -> Bool) throws {
        try TestSupport.wait(until: what(), timeout: patience) {
            if try condition() { return true }
            // Most conditions start a program.
            MonotonicClock.sleep(for: .milliseconds(100))
            return false
        }
    }

    // MARK: - Others

    private func play(_ scene: String) throws {
        let words = scene.split(separator: " ").map(String.init)
        switch (words[0], words.last) {
        case ("share", _), ("start", _), ("hear", _): try run("oriel \(scene)")
        case ("pair", let name?):
            try run("oriel rename \(name)")
            try run("oriel rename viewer", at: .viewer)
            try run("oriel pair")
            try run("oriel pair \(name)", at: .viewer, printing: ["paired with \(name)"])
        case ("server", "rooms"):
            try run("oriel rooms --tls-cert fullchain.pem --tls-key privkey.pem --listen 8443", at: .server)
        case ("server", "whip"):
            let tls = ["--tls", folder.file("fullchain.pem"), folder.file("privkey.pem")]
            let server = try other(
                scene,
                Counterparts.python + [Counterparts.path("whip_server.py"), "443"] + tls,
                at: .server
            )
            try server.wait(until: "the server listens") { !server.outputLines.isEmpty }
        case ("server", "janus"):
            let room = (name: "1234", settings: "publishers = 6, pin = \"\(Self.secret)\"")
            janus = try Janus(
                at: { [network] in network.command($0, at: .server) },
                host: PageNetwork.Host.server.rawValue,
                rooms: [room]
            )
        case ("server", "turn"), ("server", "secret"):
            relay = try Relay(
                { [network] in network.command($0, at: .server) },
                at: PageNetwork.Host.server.rawValue,
                secret: words.last == "secret" ? Self.secret : nil,
                words.last == "secret" ? [] : ["--user", "ann:secret"]
            )
        case ("sound", "server"):
            sound = try PulseServer(
                speakers: [.init("alsa_output.pci-speakers"), .init("alsa_output.usb-speakers")],
                microphones: [
                    .init("alsa_input.pci-microphone", channels: 1), .init("alsa_input.usb-headset", channels: 1),
                ],
                of: .shared
            )
        case ("play", _): others[scene] = try sound?.play(.tone(440, lasting: 1, level: 0.25), repeating: true)
        case ("window", let title?): _ = try other(scene, xterm(title), at: .sharer)
        case ("member", let room?):
            let program =
                Counterparts.python + [
                    Counterparts.path("rooms_member.py"), "https://meet.example.net:8443", room, "websocket",
                ]
            let member = try other(
                scene,
                ["env", "SSL_CERT_FILE=\(folder.file("fullchain.pem"))"] + program,
                at: .viewer
            )
            try member.wait(until: "a member is in the room") {
                member.output.contains("\"joined\": true")
            }
        case ("viewer", let name?): try view(scene, as: name)
        case ("talk", let name?): try view(scene, as: name, ["--talk", "440", "--ask"])
        case ("one", _): isOneAfterTheOther = true
        case ("stop", _): others.removeValue(forKey: words.dropFirst().joined(separator: " "))?.stop()
        default: throw Unexpected("nobody knows how to play \"\(scene)\"")
        }
    }

    private func other(_ scene: String, _ command: [String], at host: PageNetwork.Host) throws -> Subprocess {
        let program = try Subprocess(network.command(command, at: host))
        others[scene] = program
        return program
    }

    private func xterm(_ title: String) -> [String] {
        [
            "env", "DISPLAY=\(display.display)", "xterm", "-geometry", "100x40+100+100", "-T", title, "-e", "sleep",
            "600",
        ]
    }

    /// Somebody opens the link, and waits for an answer or looks in.
    private func view(_ scene: String, as name: String, _ arguments: [String] = []) throws {
        guard let link = printed.first(where: { $0.hasPrefix("http") && $0.contains("#") }),
            let end = link.firstIndex(of: "#")
        else {
            throw Unexpected("there is no link for \(name): \(log)")
        }
        func arrivals() -> Int { printed.count { $0.contains(" looks in from ") || $0.contains(" asks to look in") } }
        let before = arrivals()
        let options = ["--token", Self.token, "--seconds", "600", "--name", name, "--note", "for the demo"]
        let program = Counterparts.python + [Counterparts.path("aiortc_viewer.py"), "\(link[..<end])whep"]
        let viewer = try other(scene, program + options + arguments, at: .viewer)
        try wait(until: "\(name) is there: \(viewer.output) \(viewer.errorOutput)") {
            if let exit = viewer.status() {
                throw Unexpected("\(name)'s viewer: \(exit): \(viewer.output) \(viewer.errorOutput)")
            }
            return arrivals() > before
        }
    }
}
