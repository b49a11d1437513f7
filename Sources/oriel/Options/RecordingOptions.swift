import ArgumentParser
import Configuration
import Pixels
import VideoEncoding

/// A time, or a number of bytes: `90s`, `1h`, `500M`, `2G`.
enum TimeOrSize: ExpressibleByArgument, Equatable {
    case seconds(Int)
    case bytes(UInt64)

    private static let times: [Character: Int] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
    private static let sizes: [Character: UInt64] = ["K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40]

    init?(argument: String) {
        guard let unit = argument.last, let number = UInt64(argument.dropLast()), 1...1_000_000 ~= number else {
            return nil
        }
        if let seconds = Self.times[unit] {
            self = .seconds(Int(number) * seconds)
        } else if let bytes = Self.sizes[unit] {
            self = .bytes(number * bytes)
        } else {
            return nil
        }
    }
}

/// A time in whole seconds: `30`, `90s`, `2m`.
struct TimeSpan: ExpressibleByArgument, Equatable {
    let seconds: Int

    init?(argument: String) {
        let digits = argument.hasSuffix("s") ? argument.dropLast() : argument[...]
        if let number = Int(digits), 0...1_000_000 ~= number {
            seconds = number
        } else if case .seconds(let number) = TimeOrSize(argument: argument) {
            seconds = number
        } else {
            return nil
        }
    }
}

/// Where files of a recorder end, and how long they are kept.
struct RecordingOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Begin another file after a time (s, m, h, d) or a size (K, M, G, T); may be given once for each.",
            valueName: "1h|2G"
        )
    )
    var segment: [TimeOrSize] = []

    @Option(
        help: ArgumentHelp(
            "Remove recordings that are older than a time, or the oldest ones beyond a size of all; may be given once for each.",
            valueName: "7d|20G"
        )
    )
    var keep: [TimeOrSize] = []

    @Option(
        help: ArgumentHelp(
            "Leave this much of the disk free: the oldest recordings go, and if that is not enough, recording waits.",
            valueName: "1G"
        )
    )
    var reserve: TimeOrSize?

    func validate() throws {
        for (name, values) in [("--segment", segment), ("--keep", keep)] {
            let times = values.count { if case .seconds = $0 { true } else { false } }
            if times > 1 || values.count - times > 1 {
                throw ValidationError("\(name) takes one time and one size: leave the others out.")
            }
        }
        if case .seconds = reserve { throw ValidationError("--reserve takes a size: give one such as 1G.") }
    }

    var isEmpty: Bool { segment.isEmpty && keep.isEmpty && reserve == nil }

    /// Changes settings of a recorder.
    func apply(to settings: inout RecorderProcessSettings) {
        for limit in segment {
            switch limit {
            case .seconds(let seconds): settings.segmentSeconds = seconds
            case .bytes(let bytes): settings.segmentBytes = bytes
            }
        }
        for limit in keep {
            switch limit {
            case .seconds(let seconds): settings.keptSeconds = seconds
            case .bytes(let bytes): settings.keptBytes = bytes
            }
        }
        if case .bytes(let bytes) = reserve { settings.reservedBytes = bytes }
    }
}

/// The picture of a recording, if it is not to be that of others.
struct RecordedVideoOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Size of the recording's picture, even; that of the sender if not given.", valueName: "WxH"),
        transform: { try PixelSize(spelling: $0) }
    )
    var size: PixelSize?

    @Option(help: "Codec of the recording: vp8, vp9 or av1; that of the sender if not given.")
    var codec: CodecChoice?

    @Option(
        help: ArgumentHelp("Bits a second at most; those of the sender if not given.", valueName: "rate"),
        transform: { try Bitrate(spelling: $0) }
    )
    var bitrate: Bitrate?

    /// Nil for the picture of others.
    var settings: VideoSettings? {
        if size == nil, codec == nil, bitrate == nil { return nil }
        var settings = VideoSettings()
        if let size { settings.size = size }
        if let codec { settings.codec = codec }
        if let bitrate { settings.bitrate = bitrate }
        return settings
    }
}
