import ArgumentParser
import Calls
import FrameBridge
import Glibc
import Media
import Posix
import RTP
import Sender
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

    func validate() throws {
        if let localPort, !(1...65534 ~= localPort) {
            throw ValidationError("--local-port \(localPort) is out of range: give 1 to 65534.")
        }
    }
}

/// A sender into a plain RTP call.
struct PlainRTPSender {
    private static let keyframeInterval: UInt64 = 5_000_000_000

    let destination: RTPDestination
    let options: PlainRTPOptions
    let video: VideoOptions
    let fps: Int
    let wakesEarly: Bool
    let log: StatisticsLog?

    func run(
        _ reader: consuming FrameReader,
        in folder: String,
        until signals: borrowing TerminationSignals
    ) throws -> SenderLoop.End {
        let rendition = video.renditions(fps: fps)[0][0]
        let horizon = reader.horizon
        // No Unix socket leads to an X server; looking up a name may need one.
        let sandbox = Sandbox(writable: nil, readable: [folder], socketFamilies: [AF_INET, AF_INET6])
        let publisher = try SDPPublisher(path: options.sdp)
        // Before the thread of the call starts: it inherits this.
        try sandbox.restrictFiles()
        let call = try PlainRTPCall(
            to: destination,
            rendition,
            localPort: options.localPort,
            horizon: { horizon.instant }
        )
        defer { call.close() }
        try publisher.publish("\(call.sessionDescription(frameRate: fps))")
        try sandbox.filterCalls()
        let summary = "\(video.size) \(rendition.codec.rawValue) at \(video.bitrate)"
        Console.note("sending \(summary) to \(destination) from port \(call.localAddress.port)")
        // Most plain receivers cannot ask for a keyframe.
        let sinks = Sinks(report: Console.note)
        sinks.add(call)
        var loop = SenderLoop(
            [rendition],
            video.settings(wakesEarly: wakesEarly, keyframeInterval: Self.keyframeInterval),
            reader: reader,
            sinks: sinks,
            report: Console.note
        )
        return try loop.run(until: signals) { log?.append($0, call.statistics) }
    }
}

/// Writes the SDP from a thread that the sandbox does not bind, as it started before: the file may lie anywhere.
private struct SDPPublisher: ~Copyable {
    private final class Job: Sendable {
        let text = Deferred<String>()
        let failure = Deferred<any Error>()
        let isThere: EventSignal

        init() throws { isThere = try EventSignal() }
    }

    private let job: Job
    private let thread: Thread

    /// - Parameter path: of the file; nil for standard output.
    init(path: String?) throws {
        let job = try Job()
        let thread = try Thread {
            waitReadable(job.isThere.raw, until: .max)
            guard let text = job.text.value else { return }
            do { try Self.write(text, to: path) } catch { job.failure.value = error }
        }
        self.job = job
        self.thread = thread
    }

    consuming func publish(_ text: String) throws {
        job.text.value = text
        job.isThere.set()
        let job = job
        thread.join()
        if let error = job.failure.value { throw error }
    }

    private static func write(_ description: String, to path: String?) throws {
        guard let path else {
            Console.emit(description + "\n")
            return
        }
        do {
            try OutputFile.replace(path) { try OutputFile.open($0, O_TRUNC).write(description) }
        } catch let error as SystemError {
            throw OutputFile.failure(path, error.reason)
        }
        Console.note("watch it with: ffplay -protocol_whitelist file,udp,rtp -flags low_delay -fpsprobesize 0 \(path)")
    }
}
