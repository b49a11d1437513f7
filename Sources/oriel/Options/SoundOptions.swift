import ArgumentParser
import Configuration
import Media

extension SoundSource: ExpressibleByArgument {}

/// What of the machine is heard, and how peers are.
struct SoundOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Sound of the broadcast: all that the machine plays (monitor), a microphone (mic), both (mix), the program of the "
                + "window that is shown (app), or none.",
            valueName: "monitor|mic|mix|app|none"
        )
    )
    var sound = SoundSource.none

    @Option(
        help: ArgumentHelp(
            "Source of the sound server that is the microphone, as \"oriel sound --list\" names it; its default if not given.",
            valueName: "device"
        )
    )
    var microphone: String?

    @Option(
        help: ArgumentHelp(
            "Sink of the sound server that plays viewers' voices, as \"oriel sound --list\" names it; its default if not given.",
            valueName: "device"
        )
    )
    var output: String?

    @Option(help: ArgumentHelp("How loud peers are played, 0 to 255.", valueName: "volume"))
    var volume = SoundWish.loudest

    func validate() throws { try require("--volume", volume, in: 0...SoundWish.loudest) }

    var isHeard: Bool { sound != .none }

    /// An empty name is that of the default.
    var wish: SoundWish {
        func device(_ name: String?) -> String? { name == "" ? nil : name }
        return SoundWish(source: sound, microphone: device(microphone), output: device(output), volume: volume)
    }

    func settings(of broadcast: BroadcastOptions, _ events: String?) throws -> SoundProcessSettings {
        var settings = SoundProcessSettings(of: try broadcast.path)
        (settings.wish, settings.events) = (wish, events)
        return settings
    }
}
