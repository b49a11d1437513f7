import ArgumentParser
import Helpers
import JSON
import Nearby
import Pairing

struct Pairs: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List the devices that this one is paired with, and their rights.",
        discussion: "\"oriel nearby\" says which of them are there now."
    )

    @Flag(help: "Print JSON.")
    var json = false

    /// A pair without its secrets.
    private struct Shown: Encodable {
        let id: String
        let name: String
        let state: String
        let rights: [String]
        let hasBegun: Bool
        let since: String
        let seen: String?
        let addresses: [String]

        init(_ pair: Pair) {
            (id, name, state) = ("\(pair.id)", pair.name, pair.state.rawValue)
            rights = PairRight.allCases.filter(pair.rights.contains).map(\.rawValue)
            (hasBegun, since, seen, addresses) = (pair.hasBegun, pair.since, pair.seen, pair.addresses)
        }

        var line: String {
            let note =
                switch state {
                case "pending": ", not confirmed by the other side yet"
                case "unpaired": ", given up, and not told so yet"
                default: ""
                }
            let granted = rights.isEmpty ? "no rights" : rights.joined(separator: ",")
            return "\(name): \(granted), since \(since)\(seen.map { ", seen \($0)" } ?? "")\(note)"
        }
    }

    func run() throws {
        let pairs = try PairStore().pairs().map { Shown($0) }
        if json { Console.emit(try pairs.printableJSONLine() + "\n") } else { Console.print(pairs.map(\.line)) }
    }
}

struct Unpair: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "End the pairing with a device.",
        discussion: """
            The other device is told: now, or when both meet again. Until then "oriel pairs" lists it; to give it up a second time removes it.
            """
    )

    @OptionGroup var choice: PairChoice

    func run() throws {
        let store = try PairStore()
        let pair = try choice.pair(of: store)
        guard pair.state == .paired else {
            try store.change(pair.id) { _ in nil }
            _ = try store.renewResolvingKey()
            return try NearbyClient.tellOfChange(in: store)
        }
        try store.change(pair.id) { pair in
            var pair = pair
            pair.state = .unpaired
            return pair
        }
        let nearby = try NearbyClient()
        try nearby.ask(.unpair(pair: "\(pair.id)"))
        if try store.pairs().contains(where: { $0.id == pair.id }) {
            Console.note("\(pair.name) is not there: it is told when both meet again")
        }
    }
}

struct Rename: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Give a pair another name here, or this device another one for others.",
        discussion:
            "With one name, it is that of this device from the next \"oriel share --nearby\" or \"oriel pair\" on."
    )

    @Argument(help: ArgumentHelp("The pair, and its new name; or the new name of this device.", valueName: "name"))
    var names: [String]

    func validate() throws {
        guard 1...2 ~= names.count else { throw ValidationError("it takes a pair and its new name, or one name.") }
    }

    func run() throws {
        let store = try PairStore()
        guard names.count == 2 else { return try store.setOwnName(names[0]) }
        _ = try store.rename(try PairChoice.pair(names[0], of: store).id, to: names[1])
        try NearbyClient.tellOfChange(in: store)
    }
}

struct Permit: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Say what a pair may do here.",
        discussion: "A new pair has watch, call, message and files."
    )

    @OptionGroup var choice: PairChoice

    @Argument(
        help: ArgumentHelp(
            "Rights, separated by commas: watch, call, message, files or controls; none for no rights.",
            valueName: "rights"
        )
    )
    var rights: String

    func run() throws {
        let names = rights == "none" ? [] : rights.split(separator: ",").map { String($0) }
        if let unknown = names.first(where: { PairRight(rawValue: $0) == nil }) {
            let all = PairRight.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("there is no right \(unknown): choose among \(all).")
        }
        let store = try PairStore()
        let granted = Set(names.compactMap { PairRight(rawValue: $0) })
        try store.change(try choice.pair(of: store).id) { pair in
            var pair = pair
            pair.rights = granted
            return pair
        }
        try NearbyClient.tellOfChange(in: store)
    }
}

struct Tell: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Send a line to a paired device.")

    @OptionGroup var choice: PairChoice

    @Argument(help: "The line.")
    var text: String

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("A parameter for programs at the other side; may be given again.", valueName: "key=value")
    )
    var parameter: [String] = []

    func run() throws {
        var parameters: [String: String] = [:]
        for text in parameter {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty else { throw ValidationError("a parameter is KEY=VALUE.") }
            parameters[String(parts[0])] = String(parts[1])
        }
        let pair = try choice.pair(of: try PairStore())
        try NearbyClient().ask(.tell(pair: "\(pair.id)", text: text, parameters: parameters))
    }
}

/// A pair, by the name that it has here.
struct PairChoice: ParsableArguments {
    @Argument(help: ArgumentHelp("The paired device, as \"oriel pairs\" lists it.", valueName: "pair"))
    var name: String

    func pair(of store: PairStore) throws -> Pair { try Self.pair(name, of: store) }

    static func pair(_ name: String, of store: PairStore) throws -> Pair {
        guard let pair = try store.pairs().first(where: { $0.name == name || "\($0.id)" == name }) else {
            throw Failure(.failed, "no pair is called \(name): see \"oriel pairs\"")
        }
        return pair
    }
}

extension NearbyClient {
    /// Sends a request that is answered once.
    func ask(_ request: NearbyRequest) throws {
        try connection.send(request)
        while true {
            switch try connection.next(until: nil, signals) {
            case .reply(.done), .interrupted, .late: return
            case .reply(.failed(let failure, let sentence)): throw Failure(of: failure, sentence)
            case .reply: break
            case .ended: throw Failure(.tryAgain, "the process for devices nearby has ended: try again")
            }
        }
    }
}
