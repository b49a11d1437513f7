import ArgumentParser
import Control
import FrameBridge
import Helpers
import JSON

struct Invites: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List the links that \"oriel invite\" has made.",
        discussion: "The links themselves are not kept, only their hashes."
    )

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var broadcast: BroadcastOptions

    func run() throws {
        let reports = Senders(of: try broadcast.directory()).reports()
        let invites = reports.flatMap { $0.report?.invites ?? [] }
        if json {
            Console.emit(try invites.printableJSONLine() + "\n")
        } else {
            Console.print(invites.map(\.line))
        }
    }
}

extension SenderSnapshot.Invite {
    fileprivate var line: String {
        let left = leftS.map { ", \(rounded($0)) s left" } ?? ""
        let taken = taken.map { $0 ? ", for one person, who has come" : ", for one person" } ?? ""
        let viewers = viewers.isEmpty ? "" : ", viewers \(viewers.map { "\($0)" }.joined(separator: " "))"
        return "\(id)  \(name.isEmpty ? "somebody" : name): \(rights.joined(separator: ", "))\(left)\(taken)\(viewers)"
    }
}

struct Revoke: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Take back a link that \"oriel invite\" has made.",
        discussion: "Those who came by it see nothing more at once. \"oriel invites\" lists the links."
    )

    @Argument(help: "Name or number, as \"oriel invites\" shows it.")
    var invite: String?

    @Flag(help: "Take back all.")
    var all = false

    @OptionGroup var broadcast: BroadcastOptions
    @OptionGroup var choice: SenderChoice

    func validate() throws {
        guard (invite != nil) != all else { throw ValidationError("give a name or a number, or --all.") }
    }

    func run() throws {
        let senders = Senders(of: try broadcast.directory())
        guard let invite, choice.pid == nil else {
            try senders.ask(choice.pid, for: .revoke(invite: invite))
            return
        }
        let pid = try senders.holder(of: "invitation \(invite)", who: "is there", listedBy: "invites") { status in
            status.invites?.contains { "\($0.id)" == invite || $0.name == invite } ?? false
        }
        try senders.ask(pid, for: .revoke(invite: invite))
    }
}
