import ArgumentParser
import Media
import Pixels
import Sender
import VideoEncoding

/// How the stream is encoded.
struct VideoOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Size of the stream's picture, even; 1280x720 if not given. Other shapes get black bars.",
            valueName: "WxH"
        ),
        transform: parseSize
    )
    var size = PixelSize(width: 1280, height: 720)

    @Option(
        help: """
            Codec: auto, vp8, vp9 or av1. auto is vp8, or vp9 for viewers that do not take it; browsers that take av1 \
            go on with it while text stays coarse.
            """
    )
    var codec = CodecChoice.auto

    @Option(
        help: ArgumentHelp("Bits a second at most, such as 800k or 2.5M; 2500k if not given.", valueName: "rate"),
        transform: { try Bitrate(parsing: $0) }
    )
    var bitrate = Bitrate(bitsPerSecond: 2_500_000)

    @Option(
        help: ArgumentHelp(
            "Encodes of one codec at most, 1 to 3. A further one runs only while some viewers' links carry less than half of the "
                + "best.",
            valueName: "count"
        )
    )
    var renditions = 2

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
    var vp8Profile = 0

    @Flag(
        inversion: .prefixedNo,
        help: "In VP8, send small changes as patches: a tenth of libvpx's CPU time."
    )
    var patches = true

    func validate() throws {
        guard 1...3 ~= renditions else {
            throw ValidationError("--renditions \(renditions) is out of range: give 1 to 3.")
        }
        guard 0...1 ~= vp8Profile else { throw ValidationError("--vp8-profile is 0 or 1, not \(vp8Profile).") }
        if let keyframeInterval, !(0...3600 ~= keyframeInterval) {
            throw ValidationError("--keyframe-interval \(keyframeInterval) is out of range: give 0 to 3600.")
        }
    }

    /// The same options for a child process.
    var arguments: [String] {
        [
            "--size=\(size)", "--codec=\(codec.rawValue)", "--bitrate=\(bitrate.bitsPerSecond)",
            "--renditions=\(renditions)",
            "--vp8-profile=\(vp8Profile)", patches ? "--patches" : "--no-patches",
        ] + (keyframeInterval.map { ["--keyframe-interval=\($0)"] } ?? [])
    }

    /// The renditions that may be encoded; the first one is for receivers that cannot choose.
    ///
    /// - Parameter fps: frames a second at the most.
    func renditions(fps: Int) -> [Rendition] {
        let codecs = codec.codecs.flatMap(\.self)
        return (0..<renditions * codecs.count).map { number in
            Rendition(
                id: Rendition.ID(number),
                codec: codecs[number % codecs.count],
                rung: number / codecs.count,
                width: size.width,
                height: size.height,
                framesPerSecond: fps,
                bitrate: bitrate.bitsPerSecond
            )
        }
    }

    /// How far keyframes may be apart for receivers that cannot ask for one, if the command line says nothing; nil if it does.
    var plainKeyframeInterval: Duration? { keyframeInterval == nil ? .seconds(5) : nil }

    func settings(wakesEarly: Bool) -> SenderSettings {
        let interval = keyframeInterval.flatMap { $0 == 0 ? nil : Duration.seconds($0) }
        var settings = SenderSettings(wakesEarly: wakesEarly, keyframeInterval: interval)
        settings.vp8Profile = vp8Profile
        settings.allowsPatches = patches
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

    /// Throws the sentence for a file that cannot be written, before anything is waited for or started.
    func requireFiles() throws(Failure) {
        for file in [stats, events].compactMap(\.self) { try OutputFile.requireWritable(file) }
    }

    /// The same options for a child process.
    var arguments: [String] {
        [wake ? "--wake" : "--no-wake"] + (stats.map { ["--stats=\($0)"] } ?? [])
            + (events.map { ["--events=\($0)"] } ?? [])
    }
}

enum CodecChoice: String, ExpressibleByArgument, CaseIterable {
    case auto, vp8, vp9, av1

    /// The codecs in groups: of each group, a viewer gets the first one that it takes.
    var codecs: [[VideoCodec]] {
        switch self {
        case .auto: [[.vp8, .vp9], [.av1]]
        case .vp8: [[.vp8]]
        case .vp9: [[.vp9]]
        case .av1: [[.av1]]
        }
    }
}

/// Bits a second, written with an optional `k` or `M`.
struct Bitrate: CustomStringConvertible {
    static let range = 30_000...100_000_000

    let bitsPerSecond: Int

    var description: String { "\(bitsPerSecond / 1000)k" }
}

extension Bitrate {
    init(parsing text: String) throws(ValidationError) {
        let units: [Character: Double] = ["k": 1000, "K": 1000, "m": 1_000_000, "M": 1_000_000]
        let unit = text.last.flatMap { units[$0] }
        guard let number = Double(unit == nil ? text : String(text.dropLast())), number.isFinite,
            let bits = Int(exactly: (number * (unit ?? 1)).rounded()), Self.range ~= bits
        else { throw ValidationError("give a rate from 30k to 100M, such as 2500k") }
        self.init(bitsPerSecond: bits)
    }
}

/// Even sizes from 32x32 to 4096x4096, as `1280x720`.
private func parseSize(_ text: String) throws(ValidationError) -> PixelSize {
    let sides = text.split(separator: "x", omittingEmptySubsequences: false).map { Int($0) }
    guard sides.count == 2, let width = sides[0], let height = sides[1], 32...4096 ~= width, 32...4096 ~= height,
        width.isMultiple(of: 2), height.isMultiple(of: 2)
    else { throw ValidationError("give two even numbers from 32 to 4096, such as 1280x720") }
    return PixelSize(width: width, height: height)
}
