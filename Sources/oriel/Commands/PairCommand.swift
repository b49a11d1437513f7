import ArgumentParser
import Configuration
import Discovery
import Glibc
import Helpers
import Nearby
import Pairing
import Posix
import Time

struct PairCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pair",
        abstract: "Pair with another device: show a code, or type the one that the other device shows.",
        discussion: """
            Without a device, it shows a code for two minutes, and this device is announced to all on the network as long. With a device, it \
            asks for the code that this one shows. A wrong code is of no use any more: the next one is shown. From then on the two know each \
            other under any address.
            """
    )

    @Argument(
        help: ArgumentHelp(
            "The device that shows the code: its name, its address, or the text of its photographed code.",
            valueName: "device"
        )
    )
    var device: String?

    @Flag(help: "Show a code to photograph, in place of one to type.")
    var photo = false

    /// Until a device is found that shows a code.
    private static let findingTime = Duration.seconds(10)
    /// Until both have stored it.
    private static let pairingTime = Duration.seconds(40)

    func validate() throws {
        if device != nil, photo { throw ValidationError("--photo is for the side that shows the code.") }
    }

    func run() throws {
        let nearby = try NearbyClient()
        if let device { try take(device, nearby) } else { try show(nearby) }
    }

    private func show(_ nearby: NearbyClient) throws {
        let name = try NearbyProcessSettings.ownName(in: nearby.store)
        try nearby.connection.send(.showCode(isPhotographed: photo))
        while true {
            switch try nearby.connection.next(until: nil, nearby.signals) {
            case .reply(.code(let text, let links, let seconds)): tell(text, links, seconds, name)
            case .reply(.wrongCode): Console.note("another code was typed: here is the next one")
            case .reply(.paired(let name, let isConfirmed)): return Self.tellPaired(name, isConfirmed)
            case .reply(.failed(let failure, let sentence)): throw Failure(of: failure, sentence)
            case .reply: break
            case .interrupted, .late: return
            case .ended: throw Failure(.tryAgain, "the process for devices nearby has ended: try again")
            }
        }
    }

    private func tell(_ text: String, _ links: [String], _ seconds: Int, _ name: String) {
        guard photo else {
            Console.print([text])
            return Console.note("type this code on the other device within \(seconds) s: oriel pair \"\(name)\"")
        }
        Console.print(links)
        if Console.isShown, let link = links.first, let code = QRCode(link) { Console.emit(code.terminalText) }
    }

    static func tellPaired(_ name: String, _ isConfirmed: Bool) {
        Console.print(["paired with \(name)"])
        if !isConfirmed { Console.note("\(name) went away before it said so: it is confirmed when both meet again") }
    }

    private func take(_ device: String, _ nearby: NearbyClient) throws {
        let link = PairingLink(device)
        let place = try numeric(link, device)
        var code = link?.code
        while true {
            let id = try find(place, nearby)
            let typed = try code?.text ?? Self.ask(for: id.name, nearby)
            code = nil
            if try pair(id.id, typed, nearby) { return }
            guard isatty(0) == 1 else { throw Failure(.refused, "the code is wrong: type the next one that is shown") }
            Console.note("the code is wrong: the other device shows another one now")
        }
    }

    /// The device with an address in numbers in place of a name of the network.
    private func numeric(_ link: PairingLink?, _ text: String) throws -> String {
        guard var link, !link.endpoint.isNumeric else { return text }
        let address = try SocketAddress.resolve(host: link.endpoint.host, port: link.endpoint.port)
        link.endpoint = Endpoint(host: address.host, interface: address.interface, port: address.port)
        return "\(link)"
    }

    private func find(_ device: String, _ nearby: NearbyClient) throws -> NearbyDevice {
        try nearby.connection.send(.find(device: device))
        let end: Instant = MonotonicClock.now() + Self.findingTime
        while true {
            switch try nearby.connection.next(until: end, nearby.signals) {
            case .reply(.found(let device)): return device
            case .reply(.failed(let failure, let sentence)): throw Failure(of: failure, sentence)
            case .reply: break
            case .interrupted: throw ExitCode.failure
            case .late:
                throw Failure(
                    .unavailable,
                    "no device \(device) shows a code here: run \"oriel pair\" there, or type the link that \"oriel pair --photo\" shows"
                )
            case .ended: throw Failure(.tryAgain, "the process for devices nearby has ended: try again")
            }
        }
    }

    /// - Returns: false for a wrong code.
    private func pair(_ device: String, _ code: String, _ nearby: NearbyClient) throws -> Bool {
        try nearby.connection.send(.pair(device: device, code: code))
        let end: Instant = MonotonicClock.now() + Self.pairingTime
        while true {
            switch try nearby.connection.next(until: end, nearby.signals) {
            case .reply(.paired(let name, let isConfirmed)):
                Self.tellPaired(name, isConfirmed)
                return true
            case .reply(.wrongCode): return false
            case .reply(.failed(let failure, let sentence)): throw Failure(of: failure, sentence)
            case .reply: break
            case .interrupted: throw ExitCode.failure
            case .late: throw Failure(.tryAgain, "the other device does not answer: try again")
            case .ended: throw Failure(.tryAgain, "the process for devices nearby has ended: try again")
            }
        }
    }

    private static func ask(for name: String, _ nearby: NearbyClient) throws -> String {
        if isatty(0) == 1 { Console.relay("Code shown by \(name): ", to: 2) }
        waitReadable(0, nearby.signals.descriptor.raw, until: nil)
        if nearby.signals.take() { throw ExitCode.failure }
        guard let line = readLine(), !line.isEmpty else { throw Failure(.failed, "no code was typed") }
        return line
    }
}
