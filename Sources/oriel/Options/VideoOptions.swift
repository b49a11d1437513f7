import ArgumentParser
import Configuration
import Media
import Pixels
import Sender
import VideoEncoding

struct VideoOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Size of the stream's picture, even; 1280x720 if not given. Other shapes get black bars.",
            valueName: "WxH"
        ),
        transform: { try PixelSize(spelling: $0) }
    )
    var size = VideoSettings().size

    @Option(
        help: """
            Codec: auto, vp8, vp9 or av1. auto is vp8, or vp9 for viewers that do not take it; browsers that take av1 \
            go on with it while text stays coarse.
            """
    )
    var codec = VideoSettings().codec

    @Option(
        help: ArgumentHelp("Bits a second at most, such as 800k or 2.5M; 2500k if not given.", valueName: "rate"),
        transform: { try Bitrate(spelling: $0) }
    )
    var bitrate = VideoSettings().bitrate

    @Option(
        help: ArgumentHelp(
            "Encodes of one codec at most, 1 to 3. A further one runs only while some viewers' links carry less than half of the "
                + "best.",
            valueName: "count"
        )
    )
    var renditions = VideoSettings().renditions

    @Option(
        help: ArgumentHelp(
            "Seconds between keyframes that nobody asked for, 0 for none: 5 if not given for rtp://, else 0.",
            valueName: "seconds"
        )
    )
    var keyframeInterval: Double?

    @Option(
        help: ArgumentHelp(
            "Version of VP8's bitstream: 0, which every program sends, or 1, which is cheaper to encode.",
            valueName: "0|1"
        )
    )
    var vp8Profile = VideoSettings().vp8Profile

    @Flag(
        inversion: .prefixedNo,
        help: "In VP8, send small changes as patches: a tenth of libvpx's CPU time."
    )
    var patches = VideoSettings().patches

    func validate() throws {
        try require("--renditions", renditions, in: 1...3)
        guard 0...1 ~= vp8Profile else { throw ValidationError("--vp8-profile is 0 or 1, not \(vp8Profile).") }
        if let keyframeInterval, !(0...3600 ~= keyframeInterval) {
            throw ValidationError("--keyframe-interval \(keyframeInterval) is out of range: give 0 to 3600.")
        }
    }

    var settings: VideoSettings {
        var settings = VideoSettings()
        (settings.size, settings.codec, settings.bitrate, settings.renditions) = (size, codec, bitrate, renditions)
        settings.keyframeInterval = keyframeInterval
        (settings.vp8Profile, settings.patches) = (vp8Profile, patches)
        return settings
    }
}

/// How the sender works, whatever the call.
struct SenderOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Append statistics, one JSON object a second.", valueName: "file"))
    var stats: String?

    @Option(help: ArgumentHelp("Append the events of the calls, one JSON object for each.", valueName: "file"))
    var events: String?

    @Flag(inversion: .prefixedNo, help: "Take a new frame at once, not at the next tick.")
    var wake = true
}

extension CodecChoice: ExpressibleByArgument {}
