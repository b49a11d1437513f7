import Access
import ArgumentParser
import Calls
import Control
import FrameBridge
import Helpers

struct Invite: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make a link for somebody, with rights, an end, and a way to take it back.",
        discussion: """
            The link goes to standard output, on a terminal with a code to photograph. A viewer that comes by it need not knock. It holds \
            until its end, or "oriel revoke"; without --for until the share ends. It is shown once: the sender keeps only its hash.
            """
    )

    @Argument(help: ArgumentHelp("The name of the one who comes by it, for you.", valueName: "name"))
    var person = ""

    @Option(
        name: .customLong("as"),
        help: ArgumentHelp(
            "Rights of the link, watch, hear, talk, controls or record, separated by commas; watch,hear if not given. Each link has watch.",
            valueName: "rights"
        ),
        transform: { try RightsList(parsing: $0) }
    )
    var rights = RightsList.usual

    @Option(name: .customLong("for"), help: ArgumentHelp("How long it holds, 10 s to 366 d.", valueName: "1h"))
    var time: TimeSpan?

    @Flag(help: "For one person: it belongs to the first one who comes.")
    var once = false

    @OptionGroup var broadcast: BroadcastOptions
    @OptionGroup var choice: SenderChoice

    func validate() throws {
        if let time { try require("--for", time.seconds, in: 10...366 * 86_400) }
        guard Int(person) == nil else {
            throw ValidationError("a name must not be a number: invitations have numbers.")
        }
    }

    func run() throws {
        let senders = Senders(of: try broadcast.directory())
        let reports = senders.reports()
        let pid = try choice.pid ?? senders.holder(of: "link", who: "is served", in: reports) { $0.links != nil }
        let links = reports.first { $0.pid == pid }?.report?.links ?? []
        let token = InviteToken(WebOptions.randomToken())
        let request = SenderRequest.invite(
            token: token.hash.rawValue,
            name: person,
            rights: rights.names,
            seconds: time?.seconds,
            isForOne: once
        )
        try senders.ask(pid, for: request)
        let complete = links.map { "\($0)#\(token.text)" }
        Console.print(complete)
        if Console.isShown, let link = complete.first, let code = QRCode(link) { Console.emit(code.terminalText) }
    }
}

/// The rights of an invitation, as people list them.
struct RightsList {
    static let usual = RightsList(rights: [.watch, .hear])

    private let rights: Rights

    var names: [String] { rights.names }

    private init(rights: Rights) { self.rights = rights }

    init(parsing text: String) throws(ValidationError) {
        let names = text.split(separator: ",").map { String($0) }
        if let unknown = names.first(where: { Rights(names: [$0]) == nil }) {
            throw ValidationError(
                "there is no right \(unknown): choose among \(Rights.allNames.joined(separator: ", "))."
            )
        }
        guard let rights = Rights(names: names), !names.isEmpty else {
            throw ValidationError("it takes one right or more.")
        }
        self.rights = rights.union(.watch)
    }
}

extension RightsList: CustomStringConvertible {
    var description: String { names.joined(separator: ",") }
}
