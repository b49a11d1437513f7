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

    @Argument(help: ArgumentHelp("Number of the sound; 0 selects none.", valueName: "id"))
    var number: Int?

    @OptionGroup var broadcast: BroadcastOptions
    @OptionGroup var choice: SenderChoice

    func validate() throws {
        guard (number != nil) == (action != .list) else {
            throw ValidationError(action == .list ? "a list takes no number." : "give the number of a sound.")
        }
        if let number { try require("a sound", number, in: (action == .select ? 0 : 1)...Chime.numbers.upperBound) }
    }

    func run() throws {
        guard let number else { return try list() }
        let chime = action == .play ? Chime.play(number) : .select(number == 0 ? nil : number)
        try choice.perform(.chime(chime), of: broadcast) { $0.chime != nil }
    }

    private func list() throws {
        let senders = Senders(of: try broadcast.directory())
        let reports = try choice.pid.map { [try senders.report(of: $0)] } ?? senders.reports().compactMap(\.report)
        if reports.isEmpty { _ = try senders.only() }
        guard let chimes = reports.compactMap(\.capabilities?.commands.chime).first else {
            throw Failure(
                .failed,
                "no sounds are installed: install sound-theme-freedesktop, or put some into ~/.local/share/sounds"
            )
        }
        Console.print(
            chimes.names.enumerated().map { index, name in
                "\(index + 1)  \(name)" + (chimes.selected == index + 1 ? "  for knocks" : "")
            }
        )
    }
}
