import Pixels

/// A program, or a pair of them, that sends a screen as RTP.
struct Contender: Sendable {
    let name: String
    let isOurs: Bool
    private let launch: @Sendable (_ stage: Stage, _ port: UInt16) throws -> Broadcast

    /// Starts it on a stage. It sends to a port of this machine.
    func start(_ stage: Stage, _ port: UInt16) throws -> Broadcast { try launch(stage, port) }

    static let oriel = Contender(name: "oriel", isOurs: true) { stage, port in
        try orielBroadcast(stage, port, [])
    }

    static let orielAV1 = Contender(name: "oriel, AV1", isOurs: true) { stage, port in
        try orielBroadcast(stage, port, ["--codec", "av1"])
    }

    static let orielWithoutWake = Contender(name: "oriel --no-wake", isOurs: true) { stage, port in
        try orielBroadcast(stage, port, ["--no-wake"])
    }

    static let ffmpeg = Contender(name: "ffmpeg", isOurs: false) { stage, port in
        try ffmpegBroadcast(stage, port, filter: tunedFilter, EncoderSettings.ffmpeg)
    }

    /// Scales as Oriel does, so that both encode the same pictures.
    static let ffmpegByArea = Contender(name: "ffmpeg", isOurs: false) { stage, port in
        try ffmpegBroadcast(stage, port, filter: ":flags=area" + tunedFilter, EncoderSettings.ffmpeg)
    }

    private static var tunedFilter: String { "," + EncoderSettings.ffmpegFilter }

    /// With its manual's settings for live video, and none of Oriel's.
    static let plainFFmpeg = Contender(name: "ffmpeg, plain", isOurs: false) { stage, port in
        try ffmpegBroadcast(stage, port, filter: "", EncoderSettings.plainFFmpeg)
    }

    static let plainFFmpegByArea = Contender(name: "ffmpeg, plain", isOurs: false) { stage, port in
        try ffmpegBroadcast(stage, port, filter: ":flags=area", EncoderSettings.plainFFmpeg)
    }

    private static func ffmpegBroadcast(
        _ stage: Stage,
        _ port: UInt16,
        filter: String,
        _ encoder: [String]
    ) throws -> Broadcast {
        let arguments =
            [
                "-loglevel", "error", "-nostdin", "-fflags", "nobuffer", "-f", "x11grab", "-framerate", "30",
                "-video_size", "\(stage.size)", "-i", stage.display,
                "-vf",
                "scale=\(EncoderSettings.size.width):\(EncoderSettings.size.height)\(filter)",
            ] + encoder + [
                "-flags", "low_delay", "-flush_packets", "1", "-max_delay", "0", "-payload_type", "96", "-f", "rtp",
                "rtp://127.0.0.1:\(port)?pkt_size=1200",
            ]
        return Broadcast([try ChildProcess("ffmpeg", arguments)])
    }

    static let gstreamer = Contender(name: "gstreamer", isOurs: false) { stage, port in
        let size = EncoderSettings.size
        let arguments =
            [
                "-q", "ximagesrc", "display-name=\(stage.display)", "use-damage=false", "!",
                "video/x-raw,framerate=30/1",
                "!", "videoscale", "!", "video/x-raw,width=\(size.width),height=\(size.height)",
                "!", "videoconvert", "!", "video/x-raw,format=I420", "!",
            ] + EncoderSettings.gstreamer + [
                "!", "rtpvp8pay", "pt=96", "mtu=1200", "!", "udpsink", "host=127.0.0.1", "port=\(port)", "sync=false",
            ]
        return Broadcast([try ChildProcess("gst-launch-1.0", arguments)])
    }

    /// Captures and encodes at the size of the screen, and does not packetize: the packets that it gives are counted.
    static let pixelflux = Contender(name: "pixelflux", isOurs: false) { stage, port in
        let script = try repositoryPath("Benchmarks/pixelflux_sender.py")
        let python = try repositoryPath(".build/counterparts/bin/python")
        return Broadcast([
            try ChildProcess(
                python,
                [script, "\(stage.size)", "\(EncoderSettings.bitrate / 1000)", "\(port)"],
                environment: ["DISPLAY": stage.display]
            )
        ])
    }

    private static func orielBroadcast(_ stage: Stage, _ port: UInt16, _ options: [String]) throws -> Broadcast {
        let folder = try TemporaryFolder()
        let capture = try startCapture(stage.display, in: folder)
        let sender = try startSender(port, in: folder, options)
        return Broadcast([capture, sender], folder: folder)
    }

    static func startCapture(
        _ display: String,
        in folder: TemporaryFolder,
        _ options: [String] = [],
        environment: [String: String] = [:]
    ) throws -> ChildProcess {
        try ChildProcess(
            sibling("oriel"),
            ["start", "--display", display, "--dir", folder.path + "/bridge"] + options,
            environment: environment
        )
    }

    static func startSender(
        _ port: UInt16,
        in folder: TemporaryFolder,
        _ options: [String] = [],
        environment: [String: String] = [:]
    ) throws -> ChildProcess {
        try ChildProcess(
            sibling("oriel"),
            [
                "attach", "rtp://127.0.0.1:\(port)", "--dir", folder.path + "/bridge",
                "--sdp", folder.path + "/oriel.sdp", "--size", "\(EncoderSettings.size)",
                "--bitrate", "\(EncoderSettings.bitrate / 1000)k",
            ] + options,
            environment: environment
        )
    }
}

/// A running contender.
final class Broadcast {
    let processes: [ChildProcess]
    private let folder: TemporaryFolder?

    init(_ processes: [ChildProcess], folder: TemporaryFolder? = nil) {
        self.processes = processes
        self.folder = folder
    }

    /// That of Oriel's broadcast.
    var directory: String { folder!.path + "/bridge" }

    deinit { processes.reversed().forEach { $0.stop() } }

    func requireRunning() throws {
        for process in processes { try process.requireRunning() }
    }
}
