import Foundation
import Glibc
import Posix
import TestSupport
import Time

/// Two machines in one network, each with a user that runs Oriel: `desk` at the sender's end, and `tablet`.
final class NearbyStage {
    enum Machine: String, CaseIterable { case desk, tablet }

    /// A line of `oriel nearby --watch --json`.
    struct Change: Decodable {
        struct Device: Decodable {
            let name: String
            let isPaired: Bool
            let link: String?
            let since: String?
        }

        let event: String
        let device: Device?
    }

    let network: Network
    private let folders: [Machine: TemporaryFolder]

    init(link: Link? = nil) throws {
        network = try Network(isParted: link != nil)
        folders = [.desk: try TemporaryFolder(), .tablet: try TemporaryFolder()]
        for machine in Machine.allCases { try run(machine, "rename", machine.rawValue) }
    }

    func folder(_ machine: Machine) -> String { folders[machine]!.path }

    private func command(_ machine: Machine, _ words: [String]) throws -> [String] {
        let command = [try sibling("oriel")] + words
        return machine == .desk ? network.atSender(command) : network.atViewer(command)
    }

    private func environment(_ machine: Machine) -> [String: String] {
        ["XDG_STATE_HOME": folder(machine), "XDG_RUNTIME_DIR": folder(machine)]
    }

    func run(_ machine: Machine, _ words: String...) throws {
        try Subprocess.run(try command(machine, words), environment: environment(machine))
    }

    func start(_ machine: Machine, _ words: String..., input: Int32? = nil) throws -> Subprocess {
        try Subprocess(try command(machine, words), environment: environment(machine), input: input)
    }

    func watch(_ machine: Machine, visible: String = "named", inbox: String? = nil) throws -> Subprocess {
        let words = ["nearby", "--watch", "--json", "--visible", visible] + (inbox.map { ["--inbox", $0] } ?? [])
        return try Subprocess(try command(machine, words), environment: environment(machine))
    }

    func pair() throws {
        let shown = try start(.desk, "pair")
        try wait(until: "a code is shown") { !shown.outputLines.isEmpty }
        let input = try TestSupport.Pipe()
        try Posix.write("\(shown.outputLines[0])\n", to: input.writing.raw)
        let taken = try start(.tablet, "pair", "desk", input: input.reading.raw)
        guard try taken.wait() == .code(0) else { throw BenchError("not paired: \(taken.errorOutput)") }
        _ = try shown.wait()
    }

    func changes(_ watcher: Subprocess) -> [Change] {
        watcher.outputLines.compactMap { try? Self.decoder.decode(Change.self, from: Data($0.utf8)) }
    }

    private static let decoder: JSONDecoder = {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return decoder
    }()

    func isLinked(_ watcher: Subprocess) -> Bool {
        changes(watcher).last { $0.device?.isPaired == true }?.device?.link == "connected"
    }

    /// Waits until a watcher shows something. Returns the time since a start, in ms.
    func time(
        of watcher: Subprocess,
        since start: Instant,
        until what: String,
        _ condition: () -> Bool
    ) throws -> Double {
        let deadline: Instant = start + .seconds(90)
        while !condition() {
            guard MonotonicClock.now() < deadline else { throw BenchError("not in 90 s: \(what): \(watcher.output)") }
            MonotonicClock.sleep(for: .milliseconds(1))
        }
        return (MonotonicClock.now() - start).milliseconds
    }

    /// The process that has the devices nearby, of one machine.
    func process(_ machine: Machine) throws -> pid_t {
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc") {
            guard let pid = pid_t(name),
                let words = try? String(contentsOfFile: "/proc/\(name)/cmdline", encoding: .utf8),
                words.contains("nearby-process"),
                let variables = try? String(contentsOfFile: "/proc/\(name)/environ", encoding: .utf8),
                variables.contains("XDG_STATE_HOME=\(folder(machine))\0")
            else { continue }
            return pid
        }
        throw BenchError("\(machine) has no process")
    }
}
