import ArgumentParser
import Calls
import FrameBridge
import Glibc
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
    let pace: PaceOptions
    let log: StatisticsLog?

    init(
        _ destination: RTPDestination,
        _ options: PlainRTPOptions,
        _ video: VideoOptions,
        _ pace: PaceOptions,
        _ log: StatisticsLog?
    ) {
        self.destination = destination
        self.options = options
        self.video = video
        self.pace = pace
        self.log = log
    }

    func run(
        _ reader: consuming FrameReader,
        in folder: String,
        until signals: borrowing TerminationSignals
    ) throws -> SenderLoop.End {
        let codec = video.codec.codecs[0]
        let call = try PlainRTPCall(
            to: destination,
            PlainRTPSession.Configuration(
                codec: RTP.VideoCodec(codec),
                targetBitrate: UInt64(video.bitrate.bitsPerSecond)
            ),
            localPort: options.localPort
        )
        defer { call.close() }
        try publish("\(call.sessionDescription(frameRate: pace.fps))")
        // No Unix socket leads to an X server.
        try Sandbox(folder: folder, socketFamilies: [AF_INET, AF_INET6], mayListen: false).enter()
        let summary = "\(video.size) \(codec) at \(video.bitrate)"
        Console.note("sending \(summary) to \(destination) from port \(call.localAddress.port)")
        // Most plain receivers cannot ask for a keyframe.
        var loop = SenderLoop(
            video.settings(pace, keyframeInterval: Self.keyframeInterval),
            reader: reader,
            call: PlainRTPVideo(call: call, size: video.size, codecs: [codec]),
            report: Console.note
        )
        return try loop.run(until: signals) { log?.append($0, call.statistics) }
    }

    private func publish(_ description: String) throws {
        guard let path = options.sdp else {
            Console.print(description)
            return
        }
        do {
            try OutputFile.replace(path) { try OutputFile.open($0, O_TRUNC).write(description) }
        } catch let error as SystemError {
            throw OutputFile.failure(path, error.reason)
        }
        Console.note("watch it with: ffplay -protocol_whitelist file,udp,rtp -flags low_delay \(path)")
    }
}
