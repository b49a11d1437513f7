import ArgumentParser
import Calls
import Configuration
import Publishing

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

extension PlainSettings {
    /// Makes what publishes the session description of a call. Call it before the process gives up writing files.
    var publisher: @Sendable () throws -> @Sendable (String) throws -> Void {
        { [sdp] in try SDPPublisher(path: sdp).publish }
    }
}

extension PlainRTPReceiver: ExpressibleByArgument {}
