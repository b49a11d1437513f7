import ArgumentParser
import Calls
import FrameBridge
import Glibc
import Media
import Posix
import RTP
import Sender
import Synchronization
import Time
import VideoEncoding

struct PlainRTPOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Write the SDP to a file instead of standard output.", valueName: "file"))
    var sdp: String?

    @Option(
        help: ArgumentHelp(
            "Local port of RTP; RTCP uses the next one. The kernel chooses if not given.",
            valueName: "port"
        )
    )
    var localPort: UInt16?

    @Option(
        help: ArgumentHelp(
            "Print the receiver's settings and end: commands for ffmpeg, GStreamer or VLC, a mountpoint for Janus, a path for MediaMTX.",
            valueName: "receiver"
        )
    )
    var print: PlainRTPReceiver?

    /// Where RTP may come from, as RTCP has the port after it.
    static let localPorts: ClosedRange<UInt16> = 1...65534

    func validate() throws {
        if let localPort, !Self.localPorts.contains(localPort) {
            throw ValidationError("--local-port \(localPort) is out of range: give 1 to 65534.")
        }
    }
}

extension PlainRTPReceiver: ExpressibleByArgument {}

/// The stream of all calls over plain RTP of a sender.
struct PlainRTPStream {
    let rendition: Rendition
    /// The encoder's.
    let target: TargetBitrate
    /// The longest time between keyframes; nil for no limit. Most plain receivers cannot ask for one.
    let keyframeInterval: Duration?
    /// The horizons of pictures and of sound: nothing that was captured before is sent; nil for no limit.
    let (horizon, soundHorizon): (@Sendable () -> Instant?, @Sendable () -> Instant?)
    /// Whether a call that begins now has sound.
    let hasSound: @Sendable () -> Bool

    /// Begins a call. Looking up the host may take seconds.
    ///
    /// - Parameter localPort: where RTP comes from; nil for any.
    func begin(to destination: RTPDestination, localPort: UInt16?) throws(CallEnd) -> PlainRTPCall {
        try PlainRTPCall(
            to: destination,
            rendition,
            target: target,
            hasSound: hasSound(),
            localPort: localPort,
            keyframeInterval: keyframeInterval,
            horizon: horizon,
            soundHorizon: soundHorizon
        )
    }

    /// The session description for a receiver to open.
    func description(of call: PlainRTPCall) -> String {
        call.sessionDescription(frameRate: rendition.framesPerSecond)
    }

    /// A call has begun.
    func report(_ call: PlainRTPCall, to destination: RTPDestination) -> CallReport {
        let picture = "\(rendition.width)x\(rendition.height) \(rendition.codec.rawValue)"
        let bitrate = "\(target.bitsPerSecond / 1000)k"
        return CallReport(
            .standing(nil),
            "sending \(picture) at \(bitrate) to \(destination) from port \(call.localAddress.port)"
        )
    }
}

/// A plain RTP call that has not begun, with the thread that will write its session description.
struct PreparedRTPCall {
    private let destination: RTPDestination
    private let localPort: UInt16?
    private let publisher: SDPPublisher

    /// Starts the thread: call it before the process gives up writing files.
    init(to destination: RTPDestination, _ options: PlainRTPOptions) throws {
        self.destination = destination
        localPort = options.localPort
        publisher = try SDPPublisher(path: options.sdp)
    }

    /// Makes the call and writes its session description. Looking up the host may need a Unix socket.
    func begin(_ stream: PlainRTPStream, _ events: EventLog) throws -> PlainRTPCall {
        let call = try stream.begin(to: destination, localPort: localPort)
        do {
            try publisher.publish(stream.description(of: call))
        } catch {
            call.close()
            throw error
        }
        events.tell(CallEvent(stream.report(call, to: destination), in: .plainRTP(destination)))
        return call
    }
}

/// Where a session description goes.
enum SessionDescriptionFile {
    /// - Parameter path: nil for standard output.
    static func write(_ description: String, to path: String?) throws {
        guard let path else {
            Console.emit(description + "\n")
            return
        }
        try OutputFile.replace(path) { file in try file.write(description) }
        Console.note("watch it with: ffplay -protocol_whitelist file,udp,rtp -flags low_delay -fpsprobesize 0 \(path)")
    }
}

/// Writes the SDP from a thread that started before the sandbox, which does not bind it: the file may lie anywhere.
private final class SDPPublisher {
    private final class Job: Sendable {
        let text = Mutex<String?>(nil)
        let failure = Mutex<(any Error)?>(nil)
        let isThere: EventSignal

        init() throws { isThere = try EventSignal() }
    }

    private let job: Job
    private var thread: Thread?

    /// - Parameter path: of the file; nil for standard output.
    init(path: String?) throws {
        let job = try Job()
        thread = try Thread {
            waitReadable(job.isThere.raw, until: nil)
            guard let text = job.text.withLock({ $0 }) else { return }
            do { try SessionDescriptionFile.write(text, to: path) } catch { job.failure.withLock { $0 = error } }
        }
        self.job = job
    }

    /// Waits until the text is written. Call it once.
    func publish(_ text: String) throws {
        job.text.withLock { $0 = text }
        job.isThere.set()
        thread.take()?.join()
        if let error = job.failure.withLock({ $0 }) { throw error }
    }
}
