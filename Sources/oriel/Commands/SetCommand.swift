import ArgumentParser
import Configuration
import Control
import FrameBridge

struct SetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Change how the senders of a broadcast work; nothing is started anew."
    )

    @Option(
        help: ArgumentHelp("Bits a second from now on, such as 800k or 2.5M.", valueName: "rate"),
        transform: { try Bitrate(spelling: $0) }
    )
    var bitrate: Bitrate

    @OptionGroup var broadcast: BroadcastOptions
    @OptionGroup var choice: SenderChoice

    func run() throws {
        try Senders(of: broadcast.directory()).ask(choice.pid, for: .setBitrate(bitrateBps: bitrate.bitsPerSecond))
    }
}
