import ArgumentParser
import Control
import FrameBridge
import Helpers
import Media
import Sound

struct SoundCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sound",
        abstract: "Change the sound of a running broadcast, and how its viewers' voices are played.",
        discussion: """
            Listeners stay connected. Sound of the old source that was not sent yet is dropped. Without any argument, this prints the \
            state of the sound.
            """
    )

    @Argument(help: ArgumentHelp("The sound from now on.", valueName: "monitor|mic|mix|app|none"))
    var source: SoundSource?

    @Option(
        help: ArgumentHelp(
            "The source of the sound server that is the microphone; empty for its default.",
            valueName: "device"
        )
    )
    var microphone: String?

    @Option(
        help: ArgumentHelp(
            "The sink of the sound server that plays viewers' voices; empty for its default.",
            valueName: "device"
        )
    )
    var output: String?

    @Option(help: ArgumentHelp("How loud viewers are played, 0 to 255.", valueName: "volume"))
    var volume: Int?

    @Flag(help: "List the devices of the sound server.")
    var list = false

    @OptionGroup var broadcast: BroadcastOptions

    func validate() throws {
        if let volume { try require("--volume", volume, in: 0...SoundWish.loudest) }
    }

    func run() throws {
        if list {
            Console.print(try SoundDevices.list().map(\.line))
            return
        }
        let process = SoundClient(of: try broadcast.directory())
        let change = SoundChange(source: source, microphone: microphone, output: output, volume: volume)
        if change == SoundChange() {
            Console.print(try process.status().lines)
            return
        }
        try process.ask(for: .change(change))
        let problems = (try? process.status())?.problems ?? []
        for problem in problems.dropLast() { Console.note(problem) }
        guard let problem = problems.last else { return }
        // The wish is kept, and what is wished for may not be there yet. A volume has nothing to do with that.
        if SoundChange(volume: volume) != change { throw Failure(.unavailable, problem) }
        Console.note(problem)
    }
}

extension SoundDevices.Device {
    fileprivate var line: String { "\(kind.rawValue)  \(name)  \(description)\(isDefault ? "  default" : "")" }
}

enum MutedPart: String, ExpressibleByArgument, CaseIterable {
    case mic, all, recording
}

struct Mute: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Hear nothing for a broadcast until \"oriel unmute\": no device is read any more.",
        discussion: "A sound process that is started again stays muted."
    )

    @Argument(help: ArgumentHelp("The microphone alone, all, or the recordings alone.", valueName: "mic|all|recording"))
    var part = MutedPart.all

    @OptionGroup var broadcast: BroadcastOptions

    func run() throws {
        let directory = try broadcast.directory()
        switch part {
        case .recording: _ = try Recorders(of: directory).ask(for: .mute)
        case .mic, .all:
            let mute = SoundMute(microphone: part == .mic, all: part == .all)
            try SoundClient(of: directory).ask(for: .mute(mute))
        }
    }
}

struct Unmute: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Let a broadcast be heard again.")

    @Argument(help: ArgumentHelp("The microphone alone, all, or the recordings alone.", valueName: "mic|all|recording"))
    var part = MutedPart.all

    @OptionGroup var broadcast: BroadcastOptions

    func run() throws {
        let directory = try broadcast.directory()
        switch part {
        case .recording: _ = try Recorders(of: directory).ask(for: .unmute)
        case .mic, .all:
            // No sound source is muted any more after "all".
            try SoundClient(of: directory).ask(for: .unmute(SoundMute(microphone: true, all: part == .all)))
        }
    }
}
