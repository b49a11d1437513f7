import ArgumentParser
import Configuration
import FrameBridge
import Media
import Talk

extension TalkPolicy: ExpressibleByArgument {}

/// Whether viewers are heard.
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

    func validate() throws {
        guard Talkers.placeLimits ~= talkers else {
            throw ValidationError("--talkers \(talkers) is out of range: give 1 to 4.")
        }
    }
}

extension TalkSettings {
    /// Makes the part of the sender that plays the voices of peers. Its ring must be made before the process gives up files. Begin it afterwards.
    ///
    /// - Parameter folder: the sender's; nil if it could not be made.
    /// - Returns: nil without `--talkback`, or if the ring cannot be made, which is told.
    func talkBack(in folder: SenderFolder?, _ events: TalkEvents) -> TalkBack? {
        guard talkback != .off, let folder else { return nil }
        do throws(BridgeError) {
            let writer = try SoundWriter(talkIn: folder)
            return TalkBack(talkback, places: talkers, into: writer, report: events.tell, problem: Console.note)
        } catch {
            Console.note("\(error); viewers are not heard")
            return nil
        }
    }
}
