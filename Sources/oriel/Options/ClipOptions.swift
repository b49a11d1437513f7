import ArgumentParser
import Configuration
import Glibc
import Media
import Pixels
import Recording
import X11Capture

/// How much of the picture must change to be motion: a word, or 1 to 10.
struct Sensitivity: ExpressibleByArgument, Equatable {
    /// Nil if nothing is.
    let value: Int?

    init?(argument: String) {
        switch argument {
        case "never": value = nil
        case "low": value = MotionSensitivity.low.value
        case "medium": value = MotionSensitivity.medium.value
        case "high": value = MotionSensitivity.high.value
        default:
            guard let sensitivity = Int(argument).flatMap({ MotionSensitivity($0) }) else { return nil }
            value = sensitivity.value
        }
    }
}

/// What a recorder writes other than everything.
struct ClipOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Write nothing but keep this time in memory for \"oriel replay\", up to 1h.",
            valueName: "60s"
        )
    )
    var replay: TimeSpan?

    @Option(
        help: ArgumentHelp(
            "Write nothing but clips of what changes: low (a fifth of the picture), medium (a hundredth) or high (anything); or 1 to 10; "
                + "or never, for clips by \"oriel record trigger\" alone.",
            valueName: "sensitivity"
        )
    )
    var onChange: Sensitivity?

    @Option(
        help: ArgumentHelp(
            "With --on-change: a part of the picture in which changes count; may be given again.",
            valueName: "WxH+X+Y"
        ),
        transform: { text in
            let area = try PixelRect(geometry: text)
            return ClipSettings.Zone(x: area.x, y: area.y, width: area.width, height: area.height)
        }
    )
    var zone: [ClipSettings.Zone] = []

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

    func validate() throws {
        if onChange?.value == nil, !zone.isEmpty {
            throw ValidationError("--zone is for --on-change: give that too.")
        }
        if onChange == nil, replay == nil, isAboutClips {
            throw ValidationError("there are clips with --on-change or --replay only: give one of them.")
        }
        if let onClip, !isProgram(onClip) { throw ValidationError("--on-clip \(onClip) is no program: give its path.") }
        func check(_ name: String, _ time: TimeSpan?, _ range: ClosedRange<Int>) throws {
            if let time { try require(name, time.seconds, in: range) }
        }
        try check("--replay", replay, 1...3600)
        try check("--pre-roll", preRoll, ClipSettings.preRolls)
        try check("--initial", initial, ClipSettings.initials)
        try check("--augment", augment, ClipSettings.augmentations)
        try check("--longest", longest, ClipSettings.maxima)
        try check("--blind", blind, ClipSettings.blindTimes)
        if let problem = settings?.problem { throw ValidationError("\(problem)") }
    }

    var isEmpty: Bool { replay == nil && onChange == nil && zone.isEmpty && !isAboutClips }

    /// Nil to record everything.
    var settings: ClipSettings? {
        guard onChange != nil || replay != nil else { return nil }
        var clips = ClipSettings()
        (clips.sensitivity, clips.zones) = (onChange?.value, zone)
        if let preRoll { clips.preRollS = preRoll.seconds }
        if let initial { clips.initialS = initial.seconds }
        if let augment { clips.augmentS = augment.seconds }
        if let longest { clips.longestS = longest.seconds }
        if let blind { clips.blindS = blind.seconds }
        return clips
    }

    /// Changes settings of a recorder.
    func apply(to recorder: inout RecorderProcessSettings) {
        (recorder.replaySeconds, recorder.program, recorder.clips) = (replay?.seconds, onClip, settings)
    }
}
