import Glibc
import TestSupport
import Testing

extension Refuse {
    /// A limit of the system (setrlimit) ends a command with one sentence, and by no signal.
    @Suite struct LimitTests {
        /// The program itself: its launcher is a script, which needs processes of its own.
        private static var oriel: String {
            guard geteuid() == 0 else { return Programs.orielOfTests }
            return "\(Programs.oriel[..<Programs.oriel.lastIndex(of: "/")!])/bin/oriel"
        }

        @Test(arguments: [4, 9, 14])
        func descriptorsThatRunOutAreTold(limit: Int) throws {
            let folder = try TemporaryDirectory(of: .shared)
            let result = try run(
                "--nofile=\(limit)",
                arguments: ["share", "--display", ":4711", "--dir", folder.file("bridge")]
            )
            #expect(result.code == 1)
            #expect(result.errorOutput.contains("raise the limit of open files (ulimit -n)"), "\(result.errorOutput)")
            #expect(result.errorOutput.split(separator: "\n").count == 1, "\(result.errorOutput)")
        }

        private func run(_ limits: String..., arguments: [String]) throws -> CommandResult {
            try CommandResult(OrdinaryUser.shared.running(["prlimit"] + limits + [Self.oriel] + arguments))
        }

        /// There are too many processes of this user, or there is no memory for stacks of 8 MiB.
        @Test(arguments: [("--nproc=1", "ulimit -u"), ("--data=33554432", "ulimit -d")])
        func threadsThatCannotStartAreTold(limit: String, advice: String) throws {
            let result = try run(limit, "--stack=8388608", arguments: ["rooms", "--listen", "127.0.0.1:0"])
            #expect(result.code == 1)
            #expect(result.errorOutput.contains("cannot start threads"), "\(result.errorOutput)")
            #expect(result.errorOutput.contains(advice), "\(result.errorOutput)")
            #expect(result.errorOutput.split(separator: "\n").count == 1, "\(result.errorOutput)")
        }

        /// Of the memory that the X server shares, and of the bridge.
        @Test(arguments: [100_000, 1_300_000])
        func filesThatMayNotGrowAreTold(limit: Int) throws {
            let server = try XServer()
            let broadcast = try Broadcast(on: server.display)
            let result = try run(
                "--fsize=\(limit)",
                arguments: ["start", "--display", server.display, "--dir", broadcast.directory]
            )
            #expect(result.code == 1)
            #expect(
                result.errorOutput.split(separator: "\n").last?.contains("ulimit -f") ?? false,
                "\(result.errorOutput)"
            )
        }

        // MARK: - All limits

        /// Limits as prlimit(1) names them, from where everything runs to where nothing starts. With less than that, the kernel or the loader
        /// ends a program by a signal: Oriel's own data take 2 MiB.
        private static let limits: [(name: String, values: [Int])] = [
            ("as", halved(1 << 29, to: 1 << 25)), ("data", halved(1 << 28, to: 1 << 22)),
            ("stack", halved(1 << 19, to: 1 << 16)), ("memlock", [0]), ("nofile", halved(128, to: 2)),
            ("nproc", halved(64, to: 1)), ("fsize", halved(1 << 22, to: 1 << 10)),
        ]

        private static func halved(_ most: Int, to least: Int) -> [Int] {
            Array(sequence(first: most) { $0 > least ? $0 / 2 : nil })
        }

        @Test(arguments: limits)
        func aBroadcastRunsOrSaysWhichLimitItMeets(limit: String, values: [Int]) throws {
            let server = try XServer()
            let broadcast = try Broadcast(on: server.display)
            let outcomes = try values.map { try outcome(of: broadcast, limit, $0) }
            // Others who run as this user count, too.
            if limit != "nproc" { #expect(outcomes.first == .runs) }
            if limit != "memlock" { #expect(outcomes.last != .runs) }
            guard ["as", "data"].contains(limit) else { return }
            // Just above what the loader needs, the constructors of libraries would trap.
            let results = Array(zip(values, outcomes))
            var least = try #require(results.first { $1 == .isNotLoaded }?.0)
            var most = try #require(results.last { $1 != .isNotLoaded }?.0)
            while most - least > 1 << 19 {
                let middle = (least + most) / 2
                if try outcome(of: broadcast, limit, middle) == .isNotLoaded { least = middle } else { most = middle }
            }
        }

        /// Where its memory ends decides which of them glibc's loader prints.
        private static let loaderErrors = [
            "error while loading shared libraries", "cannot allocate TLS data structures for initial thread",
        ]

        private enum Outcome {
            case runs, isTold, isNotLoaded
        }

        /// Shares a screen under a limit until the link is there, or until that ends with a sentence.
        private func outcome(of broadcast: Broadcast, _ limit: String, _ value: Int) throws -> Outcome {
            let words = ["share", "--display", broadcast.display, "--dir", broadcast.directory]
            let command =
                ["prlimit", "--\(limit)=\(value)", Self.oriel] + words + ["--listen", "127.0.0.1:\(try Ports.free())"]
            let process = try Subprocess(OrdinaryUser.shared.running(command))
            try wait(until: "\(limit)=\(value) is enough or is told: \(process.errorOutput)") {
                process.status() != nil || process.outputLines.contains { $0.contains("http") }
            }
            process.kill(SIGTERM)
            let exit = try process.wait()
            let last = process.errorLines.last ?? ""
            switch exit {
            case .code(0): return .runs
            case .code(1) where last.hasPrefix("oriel: "): return .isTold
            case .code(127) where Self.loaderErrors.contains(where: last.contains): return .isNotLoaded
            default: throw Unexpected("\(limit)=\(value): \(exit): \(process.errorOutput)")
            }
        }

        /// What other programs keep there may have filled it.
        @Test func sharedMemoryIsNotNeeded() throws {
            let server = try XServer()
            let broadcast = try Broadcast(on: server.display)
            let mount = "mount -t tmpfs -o size=4k tmpfs /dev/shm && exec \"$@\""
            let namespace = ["unshare", "--mount"] + (geteuid() == 0 ? [] : ["--map-root-user"])
            let command = [Self.oriel, "start", "--display", broadcast.display, "--dir", broadcast.directory]
            let capture = try Subprocess(namespace + ["sh", "-c", mount, "sh"] + OrdinaryUser.shared.running(command))
            try capture.wait(until: "it is live") { isBroadcast(in: broadcast.directory, "active") }
            capture.kill(SIGTERM)
            #expect(try capture.wait() == .code(0))
        }
    }
}
