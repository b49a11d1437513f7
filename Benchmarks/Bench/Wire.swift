import ArgumentParser
import Foundation
import Glibc
import Posix
import TestSupport
import Time

/// The link between a sender and its viewers. Both directions are alike, but for the rate, which limits only the
/// sender.
struct Link {
    /// Bits a second, with all headers; nil for no limit.
    var rate: Double?
    /// There and back.
    var roundTrip = Duration.zero
    /// 0…1, of the sender's packets.
    var loss = 0.0
    /// The mean number of packets lost in a row.
    var burst = 1.0
    /// The most packets that wait for the link.
    var queue = 200
    /// UDP ports of viewers with a link of their own each; all others share one without a limit. Nil if all share this
    /// one.
    var ports: ClosedRange<UInt16>?

    fileprivate var arguments: [String] {
        [
            "--rate", "\(rate ?? 0)", "--delay", "\(roundTrip.milliseconds / 2)", "--loss", "\(loss)", "--burst",
            "\(burst)", "--queue", "\(queue)",
        ] + (ports.map { ["--ports", "\($0.lowerBound)", "\($0.upperBound)"] } ?? [])
    }
}

/// A running wire in the middle of a network.
final class WireProcess {
    private let process: ChildProcess
    private let rateFile: TemporaryFolder

    init(_ link: Link, in network: Network, seed: UInt64 = 1) throws {
        rateFile = try TemporaryFolder()
        let command = network.atMiddle(
            [try sibling("bench"), "wire", "--seed", "\(seed)", "--rate-file", rateFile.path + "/rate"] + link.arguments
        )
        process = try ChildProcess(command[0], Array(command.dropFirst()))
        sleep(seconds: 0.2)
        try process.requireRunning()
    }

    /// Sets another rate, in bits a second.
    func setRate(_ rate: Double) throws {
        try "\(rate)".write(toFile: rateFile.path + "/rate", atomically: true, encoding: .utf8)
    }
}

/// Passes Ethernet frames between two interfaces, like a link of some rate, delay and loss.
struct WireCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wire",
        abstract: "A link between the interfaces left and right of this network namespace.",
        shouldDisplay: false
    )

    @Option(help: "Bits a second from left to right; 0 for no limit.") var rate = 0.0
    @Option(help: "Milliseconds in each direction.") var delay = 0.0
    @Option(help: "The share of frames from left to right that is lost.") var loss = 0.0
    @Option(help: "The mean number of frames lost one after the other.") var burst = 1.0
    @Option(help: "Frames that wait at the most.") var queue = 200
    @Option(
        parsing: .upToNextOption,
        help: "UDP ports with a link of their own each, first and last; without them, all share one."
    )
    var ports: [UInt16] = []
    @Option var seed: UInt64 = 1
    @Option(help: "A file from which another rate is read when it is there.") var rateFile: String?

    func run() throws {
        var wire = Wire(self)
        try wire.run()
    }
}

private struct Wire {
    /// Travelling frames of one direction; none overtakes another.
    private struct Direction {
        var frames: [(at: Instant, bytes: [UInt8])] = []
        var first = 0
        var freeAt = Instant.start
        /// When the waiting frames get the link.
        var starts: [Instant] = []

        mutating func pass(_ frame: [UInt8], _ options: WireCommand, rate: Double, mayDrop: Bool, at now: Instant) {
            var at = now
            if rate > 0 {
                starts.removeAll { $0 <= now }
                if mayDrop, starts.count >= options.queue { return }
                let start = max(freeAt, now)
                starts.append(start)
                at = start + .seconds(Double((frame.count - 10) * 8) / rate)
                freeAt = at
            }
            frames.append((at + .milliseconds(options.delay), frame))
        }

        var nextDeadline: Instant? { first < frames.count ? frames[first].at : nil }

        mutating func send(to socket: Int32, at now: Instant) {
            while first < frames.count {
                let (at, bytes) = frames[first]
                if at > now { break }
                _ = Glibc.send(socket, bytes, bytes.count, Int32(MSG_DONTWAIT))
                first += 1
            }
            if first > 256 {
                frames.removeFirst(first)
                first = 0
            }
        }
    }

    private let options: WireCommand
    private var rate: Double
    private var random: SplitMix
    private var isBad = false
    private var directions = [Direction(), Direction()]
    /// From left to right, by the UDP ports with a link of their own.
    private var links: [UInt16: Direction] = [:]

    init(_ options: WireCommand) {
        self.options = options
        rate = options.rate
        random = SplitMix(seed: options.seed)
    }

    mutating func run() throws {
        let sockets = try ["left", "right"].map { try Self.open($0) }
        var buffer = [UInt8](repeating: 0, count: 70_000)
        var lookedAt = Instant.start
        while true {
            let deadline = (directions + links.values).compactMap(\.nextDeadline).min()
            let now: Instant = MonotonicClock.now()
            var items = sockets.map { PollItem($0) }
            try Posix.poll(&items, until: min(deadline ?? now + .milliseconds(100), now + .milliseconds(100)))
            let woken: Instant = MonotonicClock.now()
            if let file = options.rateFile, woken - lookedAt > .milliseconds(50) {
                lookedAt = woken
                if let text = try? String(contentsOfFile: file, encoding: .utf8), let rate = Double(text) {
                    self.rate = rate
                }
            }
            for side in 0..<2 {
                while true {
                    let count = recv(sockets[side], &buffer, buffer.count, Int32(MSG_DONTWAIT))
                    if count <= 0 { break }
                    take(Array(buffer[..<count]), side, at: woken)
                }
            }
            let end: Instant = MonotonicClock.now()
            for side in 0..<2 { directions[side].send(to: sockets[1 - side], at: end) }
            for port in links.keys { links[port]!.send(to: sockets[1], at: end) }
        }
    }

    private mutating func take(_ frame: [UInt8], _ side: Int, at now: Instant) {
        // The ten bytes before the frame are the kernel's. ARP must not be lost.
        let isIPv4 = frame.count > 24 && frame[22] == 8 && frame[23] == 0
        if side == 0, let port = port(of: frame) {
            if !isLost() { links[port, default: Direction()].pass(frame, options, rate: rate, mayDrop: true, at: now) }
        } else if side == 0, options.ports.isEmpty {
            if !isIPv4 || !isLost() { directions[0].pass(frame, options, rate: rate, mayDrop: isIPv4, at: now) }
        } else {
            directions[side].pass(frame, options, rate: 0, mayDrop: false, at: now)
        }
    }

    /// A frame's UDP port if that has a link of its own.
    private func port(of frame: [UInt8]) -> UInt16? {
        guard options.ports.count == 2, frame.count > 48, frame[22] == 8, frame[23] == 0, frame[33] == 17 else {
            return nil
        }
        let port = UInt16(frame[46]) << 8 | UInt16(frame[47])
        return options.ports[0]...options.ports[1] ~= port ? port : nil
    }

    private mutating func isLost() -> Bool {
        guard options.loss > 0 else { return false }
        let chance = Double.random(in: 0..<1, using: &random)
        if options.burst <= 1 { return chance < options.loss }
        let good = options.burst * (1 - options.loss) / options.loss
        if chance < 1 / (isBad ? options.burst : good) { isBad.toggle() }
        return isBad
    }

    /// A packet socket that sees all incoming frames, with the kernel's header before each: checksums may be left to
    /// the hardware.
    private static func open(_ interface: String) throws -> Int32 {
        let (afPacket, solPacket, vnetHeader, ignoreOutgoing): (Int32, Int32, Int32, Int32) = (17, 263, 15, 23)
        let socket = Glibc.socket(afPacket, Int32(SOCK_RAW.rawValue), 0)
        guard socket >= 0 else { throw BenchError("no packet socket: \(String(cString: strerror(errno)))") }
        var on: Int32 = 1
        var room: Int32 = 8 << 20
        setsockopt(socket, solPacket, vnetHeader, &on, socklen_t(MemoryLayout<Int32>.size))
        setsockopt(socket, solPacket, ignoreOutgoing, &on, socklen_t(MemoryLayout<Int32>.size))
        setsockopt(socket, SOL_SOCKET, SO_RCVBUFFORCE, &room, socklen_t(MemoryLayout<Int32>.size))
        setsockopt(socket, SOL_SOCKET, SO_SNDBUFFORCE, &room, socklen_t(MemoryLayout<Int32>.size))
        // struct sockaddr_ll, for all protocols (ETH_P_ALL).
        var address = [UInt8](repeating: 0, count: 20)
        address[0] = UInt8(afPacket)
        address[3] = 3
        let index = if_nametoindex(interface)
        for byte in 0..<4 { address[4 + byte] = UInt8(truncatingIfNeeded: index >> (8 * UInt32(byte))) }
        let bound = address.withUnsafeBytes {
            bind(socket, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
        }
        guard index > 0, bound == 0 else { throw BenchError("there is no interface \(interface)") }
        return socket
    }
}
