import ArgumentParser

/// Which sender of a broadcast a command is for.
struct SenderChoice: ParsableArguments {
    @Option(
        name: .customLong("sender"),
        help: ArgumentHelp("Process of the sender, where several are attached.", valueName: "pid")
    )
    var pid: Int32?
}
