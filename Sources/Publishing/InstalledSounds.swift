import Control
import Glibc
import Posix

/// The sounds of this machine that can be played to its user: of the user, of the machine, and of the system (XDG Sound Theme
/// Specification, "sounds" in the data folders).
struct InstalledSounds: Sendable {
    private static let endings: Set = ["wav", "oga", "ogg", "flac"]
    private static let mostCharacters = 48
    /// Themes are folders of folders.
    private static let depth = 3

    /// By their numbers, from 1.
    let all: [(name: String, path: String)]

    /// - Parameter folders: the first one with a name counts.
    init(in folders: [String] = SoundClient.folders) {
        var paths: [String: String] = [:]
        for folder in folders { Self.look(into: folder, depth: Self.depth, &paths) }
        let names = paths.keys.sorted().prefix(Chime.numbers.upperBound)
        all = names.map { ($0, paths[$0]!) }
    }

    private static func look(into folder: String, depth: Int, _ paths: inout [String: String]) {
        guard depth > 0, let entries = try? FileDescriptor.open(folder, O_RDONLY | O_DIRECTORY).entries() else {
            return
        }
        for entry in entries.sorted() where !entry.hasPrefix(".") {
            let path = "\(folder)/\(entry)"
            let parts = entry.split(separator: ".")
            if parts.count > 1, endings.contains(parts.last!.lowercased()) {
                let name = String(entry.dropLast(parts.last!.count + 1).prefix(mostCharacters))
                if paths[name] == nil { paths[name] = path }
            } else {
                look(into: path, depth: depth - 1, &paths)
            }
        }
    }
}
