import ArgumentParser
import FrameBridge

/// Which broadcast a command is about.
struct BroadcastOptions: ParsableArguments {
    @Option(help: "Name of the broadcast.")
    var name = "default"

    @Option(help: ArgumentHelp("Folder of the broadcast, instead of the one for its name.", valueName: "path"))
    var dir: String?

    var path: String {
        get throws(BridgeError) {
            if let dir { return dir }
            return try BridgeDirectory.defaultPath(name: name)
        }
    }

    func directory(create: Bool = false) throws -> BridgeDirectory {
        try BridgeDirectory(path: path, create: create)
    }

    /// The broadcast's folder, if there is one, and those of this user's other broadcasts that have names.
    func directories() throws -> [BridgeDirectory] {
        let path = try path
        let parent = try BridgeDirectory.defaultPath(name: "default").dropLast("/default".count)
        let others = BridgeDirectory.all(in: String(parent)).filter { $0.path != path }
        do { return [try directory()] + others } catch BridgeError.noBroadcast { return others }
    }
}
