import ArgumentParser
import Configuration
import Glibc
import Media

/// What a recorder writes other than everything.
struct ClipOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Write nothing but keep this time in memory for \"oriel replay\", up to 1h.",
            valueName: "60s"
        )
    )
    var replay: TimeSpan?

    @OptionGroup var motion: MotionOptions

    @Option(
        help: ArgumentHelp(
            "Program that is run with the files of each clip, for a minute at most.",
            valueName: "program"
        )
    )
    var onClip: String?

    func validate() throws {
        if motion.onChange == nil, replay == nil, motion.hasTimes || onClip != nil {
            throw ValidationError(
                "these options are about clips: give --on-change too, with \"never\" for clips by command alone."
            )
        }
        if let onClip, !isProgram(onClip) { throw ValidationError("--on-clip \(onClip) is no program: give its path.") }
        if let replay { try require("--replay", replay.seconds, in: 1...3600) }
    }

    var isEmpty: Bool { replay == nil && motion.isEmpty && onClip == nil }

    /// Nil to record everything.
    var settings: ClipSettings? { motion.onChange != nil || replay != nil ? motion.settings : nil }

    /// Changes settings of a recorder.
    func apply(to recorder: inout RecorderProcessSettings) {
        (recorder.replaySeconds, recorder.program, recorder.clips) = (replay?.seconds, onClip, settings)
    }
}

func isProgram(_ path: String) -> Bool {
    let folders =
        path.contains("/")
        ? [""] : (getenv("PATH").map { String(cString: $0) } ?? "").split(separator: ":").map { "\($0)/" }
    return folders.contains { access($0 + path, X_OK) == 0 }
}
