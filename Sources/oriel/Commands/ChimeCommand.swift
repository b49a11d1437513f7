import ArgumentParser
import Control
import FrameBridge
import Helpers

struct ChimeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chime",
        abstract: "List the installed sounds, play one, or choose the one for knocks.",
        discussion: "The sound process of the broadcast plays it. Viewers with the right can do the same."
    )

    enum Action: String, ExpressibleByArgument, CaseIterable { case list, play, select }

    @Argument(
        help: ArgumentHelp("List the sounds, play one, or have one played for knocks.", valueName: "list|play|select")
    )
    var action: Action

    @Argument(help: ArgumentHelp("Number or name of the sound, as the list shows it; 0 selects none.", valueName: "id"))
    var sound: String?

    @OptionGroup var broadcast: BroadcastOptions
    @OptionGroup var choice: SenderChoice

    func validate() throws {
        guard (sound != nil) == (action != .list) else {
            throw ValidationError(
                action == .list ? "a list takes no sound." : "give the number or the name of a sound."
            )
        }
        if let number = sound.flatMap({ Int($0) }) {
            try require("a sound", number, in: (action == .select ? 0 : 1)...Chime.numbers.upperBound)
        }
    }

    func run() throws {
        guard let sound else { return try list() }
        let number = try Int(sound) ?? number(named: sound)
        let chime = action == .play ? Chime.play(number) : .select(number == 0 ? nil : number)
        try choice.perform(.chime(chime), of: broadcast) { $0.chime != nil }
    }

    /// - Throws: a sentence, also if no sound is installed.
    private var chimes: Capabilities.Chimes {
        get throws {
            let senders = Senders(of: try broadcast.directory())
            let answers =
                try choice.pid.map { [Result<SenderSnapshot, ControlError>.success(try senders.report(of: $0))] }
                ?? senders.reports().map(\.answer)
            if answers.isEmpty { _ = try senders.only() }
            for answer in answers {
                if let chimes = try? answer.get().capabilities?.commands.chime { return chimes }
            }
            // A sender that does not answer may have some.
            for answer in answers { _ = try answer.get() }
            throw Failure(
                .failed,
                "no sounds are installed: install sound-theme-freedesktop, or put some into ~/.local/share/sounds"
            )
        }
    }

    private func number(named name: String) throws -> Int {
        guard let index = try chimes.names.firstIndex(of: name) else {
            throw Failure(.failed, "there is no sound \"\(name)\": see \"oriel chime list\"")
        }
        return index + 1
    }

    private func list() throws {
        let chimes = try chimes
        Console.print(
            chimes.names.enumerated().map { index, name in
                "\(index + 1)  \(name)" + (chimes.selected == index + 1 ? "  for knocks" : "")
            }
        )
    }
}
