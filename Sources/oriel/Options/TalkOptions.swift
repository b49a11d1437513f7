import Access
import ArgumentParser
import Configuration
import Media

extension TalkPolicy: ExpressibleByArgument {}

struct TalkOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Which viewers and other members of rooms are heard at the speakers here: none (off), those that \"oriel talk\" "
                + "allows (ask), or all that it does not forbid (on).",
            valueName: "off|ask|on"
        )
    )
    var talkback = TalkSettings().talkback

    @Option(
        help: ArgumentHelp(
            "Voices heard at once, 1 to 4: the first to speak, each until a second of silence.",
            valueName: "count"
        )
    )
    var talkers = TalkSettings().talkers

    func validate() throws { try require("--talkers", talkers, in: Floor.placeLimits) }
}
