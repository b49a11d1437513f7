import ArgumentParser

/// What the other member of a room is told of this side.
struct RoomOptions: ParsableArguments {
    @Option(
        name: .customLong("as"),
        help: ArgumentHelp(
            "Your name, for the person who lets you into a room, 60 characters at most.",
            valueName: "name"
        )
    )
    var name = ""

    @Option(help: ArgumentHelp("Your request, for the same person, 200 characters at most.", valueName: "text"))
    var note = ""

    func validate() throws {
        guard name.unicodeScalars.count <= 60 else {
            throw ValidationError("--as is too long: give 60 characters at the most.")
        }
        guard note.unicodeScalars.count <= 200 else {
            throw ValidationError("--note is too long: give 200 characters at the most.")
        }
    }
}
