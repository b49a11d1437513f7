import ArgumentParser
import Control
import FrameBridge

struct MessageCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "message",
        abstract: "Show a line to the person who shares, as viewers can.",
        discussion: "It goes to the events, a notification, and the program of --on-message."
    )

    @Argument(help: "One line of up to 500 characters.", transform: { try MessageText(parsing: $0) })
    var text: MessageText

    @OptionGroup var broadcast: BroadcastOptions
    @OptionGroup var choice: SenderChoice

    func run() throws { try choice.perform(.message(text), of: broadcast) }
}

extension MessageText {
    fileprivate init(parsing text: String) throws(ValidationError) {
        guard let text = MessageText(text) else {
            throw ValidationError("a message is one line of 1 to \(MessageText.mostCharacters) characters.")
        }
        self = text
    }
}
