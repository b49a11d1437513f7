import ArgumentParser
import Calls
import FrameBridge
import Glibc
import Pixels
import Posix
import Sender
import VideoEncoding

struct Attach: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Attach a sender to a broadcast and stream it into a call.",
        discussion: """
            CALL is rtp://HOST:PORT: plain, unencrypted RTP to one receiver or multicast group, with RTCP on the next \
            port. The description that a receiver needs (SDP) goes to standard output or to the file of --sdp.
            """
    )

    @Argument(
        help: ArgumentHelp("Where to: rtp://HOST:PORT.", valueName: "call"),
        transform: { try RTPDestination(parsing: $0) }
    )
    var call: RTPDestination

    @OptionGroup var broadcast: BroadcastOptions
    @OptionGroup var video: VideoOptions

    @Option(help: ArgumentHelp("Write the SDP to a file instead of standard output.", valueName: "file"))
    var sdp: String?

    @Option(
        help: ArgumentHelp(
            "Local port of RTP; RTCP uses the next one. The kernel chooses if not given.",
            valueName: "port"
        )
    )
    var localPort: UInt16?

    @Option(help: ArgumentHelp("Append statistics, one JSON object a second.", valueName: "file"))
    var stats: String?

    @Flag(inversion: .prefixedNo, help: "Take a new frame at once instead of at the next tick.")
    var wake = true

    @Flag(inversion: .prefixedNo, help: "Wait for a broadcast if there is none.")
    var wait = true

    func validate() throws {
        if let localPort, !(1...65534 ~= localPort) {
            throw ValidationError("--local-port \(localPort) is out of range: give 1 to 65534.")
        }
    }

    func run() throws {
        let signals = try TerminationSignals()
        guard let reader = try attachedReader(until: signals) else { return }
        let log = try stats.map { try StatisticsLog(path: $0) }
        let call = try PlainRTPCall(to: self.call, video.rtp, localPort: localPort)
        defer { call.close() }
        try publish("\(call.sessionDescription(frameRate: video.fps))")
        Console.note("sending \(video.summary) to \(self.call) from port \(call.localAddress.port)")
        var loop = try SenderLoop(
            video.settings(wakesEarly: wake),
            reader: reader,
            call: PlainRTPVideo(call: call, size: video.size),
            report: Console.note
        )
        let end = try loop.run(until: signals) { log?.append($0, call.statistics) }
        if end == .broadcastStopped { Console.note("the broadcast has ended") }
    }

    /// A reader of a broadcast that has a picture; nil when a signal came before there was one.
    private func attachedReader(until signals: borrowing TerminationSignals) throws -> FrameReader? {
        var said = ""
        while !signals.take() {
            let obstacle: String
            do throws(BridgeError) {
                var reader = try FrameReader(directory: try BridgeDirectory(path: broadcast.path, create: false))
                let liveness = try reader.liveness()
                let isLive = liveness != .stopped && liveness != .dead
                if isLive, case .frame = try reader.read({ _ in }) {
                    reader.forget()
                    return reader
                }
                let path = try broadcast.path
                obstacle = isLive ? "the broadcast in \(path) has no picture yet" : "no broadcast in \(path) yet"
            } catch .noBroadcast(let path) {
                obstacle = "no broadcast in \(path) yet"
            } catch {
                throw Failure(error)
            }
            guard wait else {
                throw Failure(.tryAgain, "\(obstacle): start one with \"oriel start\", or leave --no-wait out")
            }
            if obstacle != said { Console.note("\(obstacle): waiting for it (\"oriel start\")") }
            said = obstacle
            waitReadable([signals.descriptor.raw], until: MonotonicClock.now() + 50_000_000)
        }
        return nil
    }

    private func publish(_ description: String) throws {
        guard let sdp else {
            Console.print(description)
            return
        }
        do {
            try OutputFile.replace(sdp) { try OutputFile.open($0, O_TRUNC).write(description) }
        } catch let error as SystemError {
            throw OutputFile.failure(sdp, error.reason)
        }
        Console.note("watch it with: ffplay -protocol_whitelist file,udp,rtp -flags low_delay \(sdp)")
    }
}
