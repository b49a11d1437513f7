import Pixels

/// A program, or a pair of them, that sends a screen as RTP.
struct Contender: Sendable {
    let name: String
    let isOurs: Bool
    /// Starts it on a display, sending to a port of this machine.
    let start: @Sendable (_ display: String, _ port: UInt16) throws -> Broadcast

    static let oriel = Contender(name: "oriel", isOurs: true) { display, port in
        try orielBroadcast(display, port, [])
    }

    static let orielWithoutWake = Contender(name: "oriel --no-wake", isOurs: true) { display, port in
        try orielBroadcast(display, port, ["--no-wake"])
    }

    static let ffmpeg = Contender(name: "ffmpeg", isOurs: false) { display, port in
        let arguments =
            [
                "-loglevel", "error", "-nostdin", "-fflags", "nobuffer", "-f", "x11grab", "-framerate", "30",
                "-video_size", "\(Stage.size)", "-i", display,
                "-vf",
                "scale=\(EncoderSettings.size.width):\(EncoderSettings.size.height),\(EncoderSettings.ffmpegFilter)",
            ] + EncoderSettings.ffmpeg + [
                "-flags", "low_delay", "-flush_packets", "1", "-max_delay", "0", "-payload_type", "96", "-f", "rtp",
                "rtp://127.0.0.1:\(port)?pkt_size=1200",
            ]
        return Broadcast([try ChildProcess("ffmpeg", arguments)])
    }

    static let gstreamer = Contender(name: "gstreamer", isOurs: false) { display, port in
        let size = EncoderSettings.size
        let arguments =
            [
                "-q", "ximagesrc", "display-name=\(display)", "use-damage=false", "!", "video/x-raw,framerate=30/1",
                "!", "videoscale", "!", "video/x-raw,width=\(size.width),height=\(size.height)",
                "!", "videoconvert", "!", "video/x-raw,format=I420", "!",
            ] + EncoderSettings.gstreamer + [
                "!", "rtpvp8pay", "pt=96", "mtu=1200", "!", "udpsink", "host=127.0.0.1", "port=\(port)", "sync=false",
            ]
        return Broadcast([try ChildProcess("gst-launch-1.0", arguments)])
    }

    private static func orielBroadcast(_ display: String, _ port: UInt16, _ options: [String]) throws -> Broadcast {
        let folder = try TemporaryFolder()
        let capture = try startCapture(display, in: folder)
        let sender = try startSender(port, in: folder, options)
        return Broadcast([capture, sender], folder: folder)
    }

    static func startCapture(_ display: String, in folder: TemporaryFolder) throws -> ChildProcess {
        try ChildProcess(sibling("oriel"), ["start", "--display", display, "--dir", folder.path + "/bridge"])
    }

    static func startSender(
        _ port: UInt16,
        in folder: TemporaryFolder,
        _ options: [String] = []
    ) throws -> ChildProcess {
        try ChildProcess(
            sibling("oriel"),
            [
                "attach", "rtp://127.0.0.1:\(port)", "--dir", folder.path + "/bridge",
                "--sdp", folder.path + "/oriel.sdp", "--codec", "vp8", "--size", "\(EncoderSettings.size)",
                "--bitrate", "\(EncoderSettings.bitrate / 1000)k", "--keyframe-interval", "0",
            ] + options
        )
    }
}

/// A contender at work.
final class Broadcast {
    let processes: [ChildProcess]
    private let folder: TemporaryFolder?

    init(_ processes: [ChildProcess], folder: TemporaryFolder? = nil) {
        self.processes = processes
        self.folder = folder
    }

    deinit { processes.reversed().forEach { $0.stop() } }

    func requireRunning() throws {
        for process in processes { try process.requireRunning() }
    }
}
