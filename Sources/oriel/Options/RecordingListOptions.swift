import ArgumentParser

/// What `oriel record list` shows.
struct RecordingListOptions: ParsableArguments {
    @Option(help: ArgumentHelp("With list: write small pictures of the recordings into a PNG.", valueName: "file"))
    var contactSheet: String?

    @Option(
        help: ArgumentHelp(
            "With --contact-sheet: time between the pictures of a recording; five of each if not given.",
            valueName: "time"
        )
    )
    var every: TimeSpan?

    var isEmpty: Bool { contactSheet == nil && every == nil }

    func validate() throws {
        guard let every else { return }
        try require("--every", every.seconds, in: 1...1_000_000)
        if contactSheet == nil { throw ValidationError("--every is for --contact-sheet: give that too.") }
    }

    func run(in folder: String, json: Bool) throws {
        let list = try RecordingList(folder)
        if let contactSheet { try list.writeContactSheet(to: contactSheet, every: every?.seconds) }
        try list.print(json: json)
    }
}
