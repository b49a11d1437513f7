import ArgumentParser
import Calls

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

    func validate() throws {
        if let localPort { try require("--local-port", localPort, in: PlainCall.localPorts) }
    }
}

extension PlainRTPReceiver: ExpressibleByArgument {}
