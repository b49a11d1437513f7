import ArgumentParser
import Helpers
import JSON
import Nearby
import Pairing
import Posix
import Time

extension Neighbourhood.Visibility: ExpressibleByArgument {}

struct NearbyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nearby",
        abstract: "List the devices on this network, and those that this one is paired with.",
        discussion: """
            Listed means heard of. Whether a device can be reached is known of pairs alone, which are connected while both run Oriel.
            """
    )

    @Flag(help: "Show each change, until Ctrl-C.")
    var watch = false

    @Flag(help: "Print JSON.")
    var json = false

    @Option(
        help: ArgumentHelp(
            "Announce this device meanwhile, as \"oriel share --nearby\" does.",
            valueName: "named|paired|off"
        )
    )
    var visible = Neighbourhood.Visibility.off

    @OptionGroup var files: InboxOptions

    /// Until all that are there have answered.
    private static let listeningTime = Duration.milliseconds(1500)

    func run() throws {
        let nearby = try NearbyClient(inbox: try files.path)
        var table = NearbyTable()
        var isListed = false
        let end: Instant? = watch ? nil : MonotonicClock.now() + Self.listeningTime
        try nearby.connection.send(.watch(visibility: visible))
        while true {
            switch try nearby.connection.next(until: end, nearby.signals) {
            case .interrupted: return
            case .ended where watch:
                try nearby.reconnect()
                try nearby.connection.send(.watch(visibility: visible))
                (table, isListed) = (NearbyTable(), false)
            case .ended, .late: return print(table)
            case .reply(let reply):
                if !json { Self.tell(reply) }
                let isNews = table.note(reply) || json
                if case .listed = reply { isListed = true }
                guard watch, isNews else { continue }
                if json {
                    guard Console.emit(try NearbyChange(reply).printableJSONLine() + "\n") else { return }
                } else if isListed {
                    guard Console.print(table.lines, redrawing: true) else { return }
                }
            }
        }
    }

    /// What is no row of the table.
    private static func tell(_ reply: NearbyReply) {
        switch reply {
        case .message(let name, let message): Console.note("\(name): \(message.text)")
        case .note(let sentence): Console.note(sentence)
        case .file(let file) where file.path == nil && file.problem == nil: Console.progress(file.sentence)
        case .file(let file): Console.note(file.sentence)
        default: break
        }
    }

    private func print(_ table: NearbyTable) {
        if json {
            Console.emit(((try? table.printableJSONLine()) ?? "") + "\n")
        } else {
            Console.print(table.lines)
        }
    }
}

/// A change of the devices nearby, for programs.
private struct NearbyChange: Encodable {
    private(set) var event = "listed"
    private(set) var device: NearbyDevice?
    private(set) var id: String?
    private(set) var driver: String?
    private(set) var problem: String?
    private(set) var from: String?
    private(set) var text: String?
    private(set) var parameters: [String: String]?
    private(set) var file: NearbyFile?

    init(_ reply: NearbyReply) {
        switch reply {
        case .device(let device): (event, self.device) = ("device", device)
        case .lost(let id): (event, self.id) = ("lost", id)
        case .problem(let driver, let sentence): (event, self.driver, problem) = ("problem", driver, sentence)
        case .message(let name, let message):
            (event, from, text, parameters) = ("message", name, message.text, message.parameters)
        case .note(let sentence): (event, text) = ("note", sentence)
        case .file(let file): (event, self.file) = ("file", file)
        default: break
        }
    }
}

/// The devices nearby as a table.
struct NearbyTable: Encodable {
    private(set) var devices: [NearbyDevice] = []
    private(set) var problems: [String: String] = [:]

    /// - Returns: whether there is something new to show.
    mutating func note(_ reply: NearbyReply) -> Bool {
        switch reply {
        case .device(let device):
            if let index = devices.firstIndex(where: { $0.id == device.id }) {
                devices[index] = device
            } else {
                devices.append(device)
            }
        case .lost(let id): devices.removeAll { $0.id == id }
        case .problem(let driver, let sentence): problems[driver] = sentence
        case .listed: break
        default: return false
        }
        return true
    }

    var lines: [String] {
        let head = ["NAME", "SCREEN", "LINK", "FOUND BY", "ADDRESS", "SINCE"]
        let rows = devices.map {
            [
                $0.shownName, $0.shownState, $0.shownLink, $0.drivers.joined(separator: ","), $0.addresses.first ?? "",
                $0.since ?? "",
            ]
        }
        let notes = problems.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
        guard !rows.isEmpty else {
            return ["no device is nearby: run \"oriel share --nearby named\" on the other one"] + notes
        }
        let widths = head.indices.map { column in ([head] + rows).map { $0[column].count }.max() ?? 0 }
        let lines = ([head] + rows).map { row in
            let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            return cells.joined(separator: "  ").trimmingTrailingSpaces
        }
        return lines + notes
    }
}

extension NearbyDevice {
    fileprivate var shownName: String { name.isEmpty ? "a device" : name }

    fileprivate var shownState: String {
        switch state {
        case "live": "shared"
        case "paused": "paused"
        case nil: "-"
        default: "not shared"
        }
    }

    fileprivate var shownLink: String {
        switch link {
        case .connected: "connected"
        case .away: "silent"
        case .connecting: "connecting"
        case .notConnected: isPaired ? "not connected" : "not confirmed"
        case nil: takesCode ? "shows a code" : "not paired"
        }
    }
}

extension String {
    fileprivate var trimmingTrailingSpaces: String {
        var text = self
        while text.last == " " { text.removeLast() }
        return text
    }
}
