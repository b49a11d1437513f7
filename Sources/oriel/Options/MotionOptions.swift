import ArgumentParser
import Media
import Motion
import Pixels
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

/// Clips of what changes.
struct MotionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Nothing but clips of what changes: low (a fifth of the picture), medium (a hundredth) or high (anything); or 1 to 10; "
                + "or, for recorders, never: clips by \"oriel record trigger\" alone.",
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

    func validate() throws {
        if onChange?.value == nil, !zone.isEmpty {
            throw ValidationError("--zone is for --on-change: give that too.")
        }
        func check(_ name: String, _ time: TimeSpan?, _ range: ClosedRange<Int>) throws {
            if let time { try require(name, time.seconds, in: range) }
        }
        try check("--pre-roll", preRoll, ClipSettings.preRolls)
        try check("--initial", initial, ClipSettings.initials)
        try check("--augment", augment, ClipSettings.augmentations)
        try check("--longest", longest, ClipSettings.maxima)
        try check("--blind", blind, ClipSettings.blindTimes)
        if let problem = settings.problem { throw ValidationError("\(problem)") }
    }

    /// Whether there are times of clips.
    var hasTimes: Bool { [preRoll, initial, augment, longest, blind].contains { $0 != nil } }

    var isEmpty: Bool { onChange == nil && zone.isEmpty && !hasTimes }

    /// Without a sensitivity, those of clips by command.
    var settings: ClipSettings {
        var clips = ClipSettings()
        (clips.sensitivity, clips.zones) = (onChange?.value, zone)
        if let preRoll { clips.preRollS = preRoll.seconds }
        if let initial { clips.initialS = initial.seconds }
        if let augment { clips.augmentS = augment.seconds }
        if let longest { clips.longestS = longest.seconds }
        if let blind { clips.blindS = blind.seconds }
        return clips
    }
}
