import Glibc
import Posix
import TestSupport
import Testing

/// What a user meets who is not root, from the browser's end too. All tests run Oriel as such a user; these ask for what
/// only such users have: an authority file, a kernel without Landlock, `sudo`, a home.
extension Refuse {
    @Suite struct OrdinaryUserTests {
        private let user = OrdinaryUser.shared

        /// Otherwise all the other tests are root's.
        @Test func nothingRunsAsRoot() throws {
            let shared = try SharedScreen()
            let children = try [shared.child("start"), shared.child("attach"), shared.child("hear")].map {
                try #require($0)
            }
            for pid in children + [shared.process.pid] {
                let status = String(decoding: try contents(of: "/proc/\(pid)/status"), as: UTF8.self)
                let lines = status.split(separator: "\n")
                let ids = Array(repeating: "\(user.id)", count: 4).joined(separator: "\t")
                #expect(user.id != 0 && lines.contains("Uid:\t\(ids)"))
                #expect(lines.contains("CapEff:\t0000000000000000") && lines.contains("CapBnd:\t0000000000000000"))
            }
            #expect(try shared.view().connected)
            shared.process.stop()
        }

        enum Authority: CaseIterable { case named, inHome }

        /// A server that lets nobody in without its cookie, as display managers start it.
        @Test(arguments: Authority.allCases)
        func aServerWithAnAuthorityFileIsShared(authority: Authority) throws {
            let folder = try TemporaryDirectory(of: user)
            let display = ":\(Int.random(in: 1000..<50_000))"
            let cookies = authority == .named ? folder.file("cookies") : "\(user.home)/.Xauthority"
            defer { unlink(cookies) }
            func makeCookie() throws {
                let cookie = try Subprocess.run(["mcookie"]).prefix { !$0.isNewline }
                try Subprocess.run(user.running(["xauth", "-f", cookies, "add", display, ".", String(cookie)]))
            }
            let environment = authority == .named ? ["XAUTHORITY": cookies] : [:]

            try makeCookie()
            var server = try XServer(display: display, arguments: ["-auth", cookies])
            let stranger = try CommandResult(
                [Programs.oriel, "list", "--display", display],
                environment: ["XAUTHORITY": folder.file("none")]
            )
            #expect(stranger.code == 69)
            #expect(stranger.errorOutput.contains(display), "\(stranger.errorOutput)")

            let shared = try SharedScreen(of: server, environment: environment)
            func run(_ command: String, _ arguments: String...) throws -> CommandResult {
                try CommandResult([Programs.oriel, command] + arguments + shared.broadcast, environment: environment)
            }
            #expect(try shared.view().connected)
            let source = try run("source", "--region", "200x100+5+5")
            #expect(source.code == 0, "\(source.errorOutput)")
            kill(try #require(try shared.child("start")), SIGKILL)
            try wait(until: "the region is shared again") {
                try run("status").output.contains("200x100,") && run("status").output.hasPrefix("active")
            }
            // Another server, another cookie.
            try server.crash()
            try wait(until: "the source is lost") { isBroadcast(in: shared.folder.file("bridge"), "source_lost") }
            try makeCookie()
            server = try XServer(display: display, arguments: ["-auth", cookies])
            try wait(until: "the source is back") { isBroadcast(in: shared.folder.file("bridge"), "active") }
            #expect(try shared.view().connected)
            shared.process.stop()
        }

        /// As in many containers.
        @Test func withoutLandlockAllWorksAndThatIsSaid() throws {
            let shared = try SharedScreen(shell: "exec python3 \(Counterparts.path("without_landlock.py")) \"$@\"")
            #expect(try shared.view().connected)
            for command in ["pause", "resume", "source", "inspect"] {
                let result = try CommandResult([Programs.oriel, command] + shared.broadcast)
                #expect(result.code == 0, "\(result.errorOutput)")
            }
            #expect(shared.process.errorOutput.contains("does not let Oriel restrict itself by landlock"))
            kill(try #require(try shared.child("attach")), SIGKILL)
            try wait(until: "a viewer connects") { try shared.view().connected }
            shared.process.stop()
        }

        /// `tools/share` on a machine where packages are missing, by a user who may become root with sudo.
        @Test func aFreshCloneIsSharedWithSudo() throws {
            let clone = try Clone(lacking: "libyuv-dev")
            let network = try Network()
            let process = try Subprocess(
                network.atSender(clone.running("tools/share", "--yes")),
                environment: ["DISPLAY": ""]
            )
            try process.wait(until: "the link is there") { process.output.contains("#") }
            let asRoot = try clone.askedOfRoot
            #expect(asRoot.count == 2 && asRoot.first?.hasPrefix("apt-get update") == true, "\(asRoot)")
            #expect(asRoot.last?.contains("apt-get install") == true && asRoot.last?.hasSuffix(" libyuv-dev") == true)
            process.kill(SIGINT)
            #expect(try process.wait() == .code(130))
        }

        @Test func itIsInstalledBesideTheSystemWithSudo() throws {
            let clone = try Clone()
            let prefix = try TemporaryDirectory()
            let installed = try CommandResult(clone.running("tools/install", prefix.path))
            #expect(installed.code == 0, "\(installed.errorOutput)")
            let asRoot = try clone.askedOfRoot
            #expect(asRoot.count == 3 && asRoot.allSatisfy { $0.hasPrefix("install -D -m ") }, "\(asRoot)")
        }

        @Test func itIsInstalledIntoAHome() throws {
            let clone = try Clone()
            let home = try TemporaryDirectory(of: user)
            let installed = try CommandResult(clone.running("tools/install", home.file("local")))
            #expect(installed.code == 0, "\(installed.errorOutput)")
            #expect(access(clone.folder.file("sudo.log"), F_OK) != 0)
            for file in ["include/oriel_bridge.h", "share/doc/oriel/Format.md"] {
                #expect(access(home.file("local/\(file)"), R_OK) == 0)
            }
            let program = try CommandResult(user.running([home.file("local/bin/oriel"), "--version"]))
            #expect(program.code == 0 && !program.output.isEmpty)
        }
    }
}

/// The files of the repository as an ordinary user has them, already built.
private struct Clone {
    let folder: TemporaryDirectory

    /// Its sudo only writes down what it is asked for.
    ///
    /// - Parameter package: one that is said not to be installed.
    init(lacking package: String = "") throws {
        folder = try TemporaryDirectory(of: .shared)
        let build = folder.file("clone/.build/release")
        try Subprocess.run(["mkdir", "-p", build, folder.file("bin")])
        try Subprocess.run(["cp", "-r", "tools", "Sources", folder.file("clone")])
        try Subprocess.run(["cp", Programs.orielOfTests, Programs.workload, build])
        try script("swift", "case \"$*\" in *--show-bin-path*) echo \(build) ;; esac")
        try script("sudo", "echo \"$@\" >> \(folder.file("sudo.log"))")
        try script(
            "dpkg-query",
            "for last; do :; done; [ \"$last\" != \"\(package)\" ] && exec /usr/bin/dpkg-query \"$@\""
        )
        try Subprocess.run(["chown", "-R", "\(OrdinaryUser.shared.id):\(OrdinaryUser.shared.group)", folder.path])
    }

    /// The command lines that were given to sudo.
    var askedOfRoot: [Substring] {
        get throws {
            String(decoding: try contents(of: folder.file("sudo.log")), as: UTF8.self).split(separator: "\n")
        }
    }

    /// One of its tools with arguments, run by the user.
    func running(_ tool: String, _ arguments: String...) -> [String] {
        let path = "\(folder.file("bin")):/usr/local/bin:/usr/bin:/bin"
        return OrdinaryUser.shared.running(["env", "PATH=\(path)", folder.file("clone/\(tool)")] + arguments)
    }

    private func script(_ name: String, _ text: String) throws {
        let path = folder.file("bin/\(name)")
        try FileDescriptor.open(path, O_WRONLY | O_CREAT).write("#!/bin/sh\n\(text)\n")
        chmod(path, 0o755)
    }
}
