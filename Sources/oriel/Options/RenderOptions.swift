import ArgumentParser
import Calls

struct RenderOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Show the picture of the other member of a room: in a "window", or as YUV4MPEG2 in a file or pipe, or on standard \
            output with "-".
            """,
            valueName: "where"
        )
    )
    var render: String?

    @Flag(help: "Show the broadcast in a window here, too.")
    var preview = false

    func validate() throws {
        if render == "" { throw ValidationError("--render needs a file, \"window\" or \"-\".") }
    }

    /// Whether the options suit the calls of one sender.
    func validate(for calls: [CallPlan], printsDescriptions: Bool) throws {
        guard let render else { return }
        let rooms = calls.count(where: \.receivesPictures)
        guard rooms == 1 else {
            throw ValidationError(
                rooms == 0
                    ? "--render is for rooms: other calls send nothing back."
                    : "--render shows one room: attach a sender to each."
            )
        }
        if render == "-", printsDescriptions || calls.contains(where: \.listens) {
            throw ValidationError("--render - takes standard output, where other calls print: give a file.")
        }
    }
}
