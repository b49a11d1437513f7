import FoundationEssentials
import Glibc
import Posix
import TestSupport
import Testing

/// Two machines in one network, each with a user that runs Oriel: `desk` at the sender's end, and `tablet`.
final class Neighbours {
    enum Machine: String, CaseIterable {
        case desk, tablet

        var other: Machine { self == .desk ? .tablet : .desk }
    }

    /// A device as `oriel nearby --json` prints it.
    struct Device: Decodable {
        let id: String
        let name: String
        let isPaired: Bool
        let state: String?
        let takesCode: Bool
        let drivers: [String]
        let addresses: [String]
        let link: String?
    }

    /// A line of `oriel nearby --watch --json`.
    struct Change: Decodable {
        let event: String
        let device: Device?
        let id: String?
        let driver: String?
        let problem: String?
        let from: String?
        let text: String?
        let parameters: [String: String]?
        let file: File?
    }

    struct File: Decodable {
        let from: String
        let name: String
        let received: UInt64
        let path: String?
        let problem: String?
    }

    struct List: Decodable {
        let devices: [Device]
        let problems: [String: String]
    }

    let network: Network
    private let states: [Machine: TemporaryDirectory]

    init(_ network: Network? = nil) throws {
        self.network = try network ?? Network()
        var states: [Machine: TemporaryDirectory] = [:]
        for machine in Machine.allCases { states[machine] = try TemporaryDirectory(of: .shared) }
        self.states = states
        for machine in Machine.allCases { #expect(try run(machine, "rename", machine.rawValue).code == 0) }
    }

    /// The folder of a machine's pairs.
    func folder(_ machine: Machine) -> String { states[machine]!.file("oriel/nearby") }

    func environment(_ machine: Machine) -> [String: String] {
        ["XDG_STATE_HOME": states[machine]!.path, "XDG_RUNTIME_DIR": states[machine]!.path, "DISPLAY": ""]
    }

    func at(_ machine: Machine, _ command: [String]) -> [String] {
        machine == .desk ? network.atSender(command) : network.atViewer(command)
    }

    func run(_ machine: Machine, _ words: String...) throws -> CommandResult {
        try CommandResult(at(machine, [Programs.oriel] + words), environment: environment(machine))
    }

    func start(_ machine: Machine, _ words: [String], input: Int32? = nil) throws -> Subprocess {
        try Subprocess(at(machine, [Programs.oriel] + words), environment: environment(machine), input: input)
    }

    /// Types a line for a command.
    func run(_ machine: Machine, _ words: [String], typing line: String) throws -> CommandEnd {
        let input = try Pipe()
        try Posix.write(line + "\n", to: input.writing.raw)
        let process = try start(machine, words, input: input.reading.raw)
        let exit = try process.wait(timeout: patience)
        return CommandEnd(exit: exit, output: process.output, errorOutput: process.errorOutput)
    }

    struct CommandEnd {
        let exit: Subprocess.Exit
        let output: String
        let errorOutput: String
    }

    /// Shows a code at a machine.
    func showCode(_ machine: Machine, _ options: String...) throws -> (process: Subprocess, code: String) {
        let process = try start(machine, ["pair"] + options)
        try process.wait(until: "a code is shown") { !process.outputLines.isEmpty }
        return (process, String(process.outputLines[0]))
    }

    /// Pairs the two. The first one shows the code.
    func pair(_ shower: Machine = .desk) throws {
        let shown = try showCode(shower)
        let taken = try run(shower.other, ["pair", shower.rawValue], typing: shown.code)
        #expect(taken.exit == .code(0) && taken.output == "paired with \(shower)\n", "\(taken.errorOutput)")
        #expect(try shown.process.wait(timeout: patience) == .code(0))
        #expect(shown.process.outputLines.last == "paired with \(shower.other)")
    }

    /// Waits until the process that a command started for its time is gone.
    func waitUntilGone(_ machine: Machine) throws {
        try wait(until: "\(machine) has no process") {
            try !FileDescriptor.open("\(folder(machine))/running", O_RDWR).isLockedByAnother(against: .exclusive)
        }
    }

    func list(_ machine: Machine) throws -> List {
        try Self.decoder.decode(List.self, from: Data(try run(machine, "nearby", "--json").output.utf8))
    }

    /// Watches from a machine until it is stopped.
    func watch(_ machine: Machine, visible: String = "paired") throws -> Watcher {
        Watcher(try start(machine, ["nearby", "--watch", "--json", "--visible", visible]))
    }

    fileprivate static let decoder: JSONDecoder = {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return decoder
    }()
}

/// `oriel nearby --watch --json`.
final class Watcher {
    let process: Subprocess

    init(_ process: Subprocess) { self.process = process }

    var changes: [Neighbours.Change] {
        process.outputLines.compactMap { try? Neighbours.decoder.decode(Neighbours.Change.self, from: Data($0.utf8)) }
    }

    /// The last state of the devices that are there.
    var devices: [Neighbours.Device] {
        var devices: [Neighbours.Device] = []
        for change in changes {
            devices.removeAll { $0.id == change.device?.id || $0.id == change.id }
            if let device = change.device { devices.append(device) }
        }
        return devices
    }

    func wait(until what: String, _ condition: ([Neighbours.Device]) -> Bool) throws {
        try process.wait(until: "\(what): \(process.output)") { condition(devices) }
    }
}
