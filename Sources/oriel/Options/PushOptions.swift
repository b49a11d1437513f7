import ArgumentParser
import Calls
import Media

/// A time in milliseconds or seconds: `500ms`, `4s`, `1m`.
struct FineTime: ExpressibleByArgument, Equatable {
    let milliseconds: Int

    init?(argument: String) {
        if argument.hasSuffix("ms"), let number = Int(argument.dropLast(2)), 0...1_000_000_000 ~= number {
            milliseconds = number
        } else if let time = TimeSpan(argument: argument) {
            milliseconds = time.seconds * 1000
        } else {
            return nil
        }
    }
}

struct PushOptions: ParsableArguments {
    @OptionGroup var motion: MotionOptions

    @Option(help: ArgumentHelp("Length of a segment, 500ms to 65500ms.", valueName: "4s"))
    var segmentLength: FineTime?

    @Option(help: ArgumentHelp("End the call after this time.", valueName: "time"))
    var expires: TimeSpan?

    func validate() throws {
        if motion.onChange?.value == nil, !motion.isEmpty {
            throw ValidationError(
                "clips are pushed of what changes: give --on-change with low, medium, high or 1 to 10."
            )
        }
        if let segmentLength, !(PushSettings.segmentLengths ~= segmentLength.milliseconds) {
            throw ValidationError(
                "--segment-length \(segmentLength.milliseconds)ms is out of range: give 500ms to 65500ms."
            )
        }
        if let expires { try require("--expires", expires.seconds, in: PushSettings.lifetimes) }
    }

    /// - Parameter calls: all calls of the sender.
    func validate(for calls: [CallPlan]) throws {
        if !calls.contains(where: { $0.kind == CMAFCall.kind }), settings != PushSettings() {
            throw ValidationError("the options of cmaf+ are for such a call: give one, or leave them out.")
        }
    }

    var settings: PushSettings {
        var settings = PushSettings()
        if let segmentLength { settings.segmentMs = segmentLength.milliseconds }
        settings.clips = motion.onChange == nil ? nil : motion.settings
        settings.lifetimeS = expires?.seconds
        return settings
    }
}
