import ArgumentParser
import FrameBridge
import Sender

extension TalkPolicy: ExpressibleByArgument {}

/// Whether those are heard who look in.
struct TalkOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Whether viewers, and the other members of rooms, are heard at the speakers here: off, ask: each whom \"oriel talk\" "
                + "lets speak, or on: all, but those from whom it takes that.",
            valueName: "off|ask|on"
        )
    )
    var talkback = TalkPolicy.off

    @Option(
        help: ArgumentHelp(
            "How many are heard at once, 1 to 4: those who speak first, until they are silent for a second.",
            valueName: "count"
        )
    )
    var talkers = 1

    func validate() throws {
        guard Talkers.placeLimits ~= talkers else {
            throw ValidationError("--talkers \(talkers) is out of range: give 1 to 4.")
        }
    }

    /// What hears peers, whose ring must be made before the process gives up files. Begin it afterwards.
    ///
    /// - Parameter folder: the sender's; nil if it could not be made.
    /// - Returns: nil where nobody is to be heard, or cannot be, which is told then.
    func talkBack(in folder: SenderFolder?, _ events: TalkEvents) -> TalkBack? {
        guard talkback != .off, let folder else { return nil }
        do throws(BridgeError) {
            let writer = try SoundWriter(talkIn: folder)
            return TalkBack(talkback, places: talkers, into: writer, report: events.tell, problem: Console.note)
        } catch {
            Console.note("\(error); nobody who looks in is heard")
            return nil
        }
    }

    /// The same options for a child process.
    var arguments: [String] { ["--talkback=\(talkback.rawValue)", "--talkers=\(talkers)"] }
}
