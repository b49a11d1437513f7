import ArgumentParser
import Configuration
import Glibc
import Pixels
import Recording
import VideoEncoding
import X11Capture

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
        if let number = Int(argument), 0...1_000_000 ~= number {
            seconds = number
        } else if case .seconds(let number) = TimeOrSize(argument: argument) {
            seconds = number
        } else {
            return nil
        }
    }
}

/// How much of the picture must change to be motion: a word, or 1 to 10.
struct Sensitivity: ExpressibleByArgument, Equatable {
    let value: Int

    init?(argument: String) {
        switch argument {
        case "low": value = MotionSensitivity.low.value
        case "medium": value = MotionSensitivity.medium.value
        case "high": value = MotionSensitivity.high.value
        default:
            guard let sensitivity = Int(argument).flatMap({ MotionSensitivity($0) }) else { return nil }
            value = sensitivity.value
        }
    }
}

/// What a recorder writes, and where.
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

    @Option(
        help: ArgumentHelp(
            "Write nothing but keep this time in memory for \"oriel replay\", up to 1h.",
            valueName: "60s"
        )
    )
    var replay: TimeSpan?

    @Option(
        help: ArgumentHelp(
            "Write nothing but clips of what changes: low (a fifth of the picture), medium (a hundredth) or high (anything); or 1 to 10.",
            valueName: "sensitivity"
        )
    )
    var onChange: Sensitivity?

    @Option(
        help: ArgumentHelp(
            "With --on-change: a part of the picture in which changes count; may be given again.",
            valueName: "WxH+X+Y"
        )
    )
    var zone: [String] = []

    @Option(
        help: ArgumentHelp("Time of a clip from before it began, up to 60s. (default: 5s)", valueName: "5s")
    )
    var preRoll: TimeSpan?

    @Option(help: ArgumentHelp("Length of a clip in which nothing moves any more. (default: 10s)", valueName: "10s"))
    var initial: TimeSpan?

    @Option(help: ArgumentHelp("Time by which motion makes it longer. (default: 5s)", valueName: "5s"))
    var augment: TimeSpan?

    @Option(
        help: ArgumentHelp(
            "Longest clip: 10s, 15s, 30s, 60s, 120s, 180s, or any time from 1s on. (default: 30s)",
            valueName: "30s"
        )
    )
    var longest: TimeSpan?

    @Option(help: ArgumentHelp("Time after a clip in which changes begin none. (default: 30s)", valueName: "30s"))
    var blind: TimeSpan?

    @Option(
        help: ArgumentHelp(
            "Program that is run with the files of each clip, for a minute at most.",
            valueName: "program"
        )
    )
    var onClip: String?

    private var isAboutClips: Bool {
        [preRoll, initial, augment, longest, blind].contains { $0 != nil } || onClip != nil
    }

    private func isProgram(_ path: String) -> Bool {
        let folders =
            path.contains("/")
            ? [""] : (getenv("PATH").map { String(cString: $0) } ?? "").split(separator: ":").map { "\($0)/" }
        return folders.contains { access($0 + path, X_OK) == 0 }
    }

    private func validateClips() throws {
        if onChange == nil, !zone.isEmpty {
            throw ValidationError("--zone is for --on-change: give that too.")
        }
        for zone in zone {
            do { _ = try PixelRect(geometry: zone) } catch { throw ValidationError("\(error)") }
        }
        if onChange == nil, replay == nil, isAboutClips {
            throw ValidationError("there are clips with --on-change or --replay only: give one of them.")
        }
        if let onClip, !isProgram(onClip) { throw ValidationError("--on-clip \(onClip) is no program: give its path.") }
        func check(_ name: String, _ time: TimeSpan?, _ range: ClosedRange<Int>) throws {
            if let time { try require(name, time.seconds, in: range) }
        }
        try check("--replay", replay, 1...3600)
        try check("--pre-roll", preRoll, 0...60)
        for (name, time) in [("--initial", initial), ("--augment", augment)] { try check(name, time, 1...65_535) }
        try check("--longest", longest, 1...1_000_000)
        try check("--blind", blind, 0...65_535)
    }

    func validate() throws {
        try validateClips()
        for (name, values) in [("--segment", segment), ("--keep", keep)] {
            let times = values.count { if case .seconds = $0 { true } else { false } }
            if times > 1 || values.count - times > 1 {
                throw ValidationError("\(name) takes one time and one size: leave the others out.")
            }
        }
        if case .seconds = reserve { throw ValidationError("--reserve takes a size: give one such as 1G.") }
    }

    var isEmpty: Bool {
        segment.isEmpty && keep.isEmpty && reserve == nil && replay == nil && onChange == nil && zone.isEmpty
            && !isAboutClips
    }

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
        (settings.replaySeconds, settings.program) = (replay?.seconds, onClip)
        guard onChange != nil || replay != nil else { return }
        var clips = ClipSettings()
        (clips.sensitivity, clips.zones) = (onChange?.value, zone)
        if let preRoll { clips.preRollSeconds = preRoll.seconds }
        if let initial { clips.initialSeconds = initial.seconds }
        if let augment { clips.augmentationSeconds = augment.seconds }
        if let longest { clips.maximumSeconds = longest.seconds }
        if let blind { clips.blindSeconds = blind.seconds }
        settings.clips = clips
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
