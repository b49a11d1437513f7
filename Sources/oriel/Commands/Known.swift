import Access
import ArgumentParser
import Control
import FrameBridge
import Helpers
import JSON

struct Known: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List the viewers that need not ask at a sender with --accept known.",
        discussion:
            "\"oriel accept --always\" adds a viewer; after \"oriel forget\" or \"oriel kick\" it has to ask again."
    )

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        let entries = try GuestStore().load()
        if json {
            Console.emit(try entries.printableJSONLine() + "\n")
        } else {
            Console.print(entries.map { "\($0.name.isEmpty ? "somebody" : $0.name), since \($0.since)" })
        }
    }
}

struct Forget: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Forget a known viewer: it has to ask again.",
        discussion: """
            A viewer that is connected stays; "oriel kick" ends that too. All broadcasts that have names are told, and that of --dir. \
            "oriel known" lists the names.
            """
    )

    @Argument(help: "Name, as \"oriel known\" shows it; all of this name are forgotten.")
    var visitor: String?

    @Flag(help: "Forget all.")
    var all = false

    @OptionGroup var broadcast: BroadcastOptions

    func validate() throws {
        guard (visitor != nil) != all else { throw ValidationError("give a name, or --all.") }
    }

    func run() throws {
        let store = try GuestStore()
        var isDone = all
        if all {
            try store.forgetAll()
        } else {
            isDone = try store.forget { $0.name == visitor } > 0
        }
        // Senders that run know them too, and also those that were let in for this broadcast alone.
        if try Senders.forget(visitor, in: try broadcast.directories()) { isDone = true }
        guard isDone else {
            throw Failure(.failed, "nobody is known as \(visitor ?? ""): see \"oriel known\"")
        }
    }
}
