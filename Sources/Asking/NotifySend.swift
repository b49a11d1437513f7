import Glibc
import Helpers
import Posix

/// The program that shows notifications, as PATH names it when the process that asks starts.
///
/// Whatever it is, it reads the system's files and its own, and writes none.
final class NotifySend {
    /// Where package managers keep programs with their libraries, beside the folders of the system.
    private static let packageFolders = ["/nix/store", "/gnu/store", "/opt", "/home/linuxbrew/.linuxbrew"]

    let path: String
    /// The files and folders that it may read beside the system's.
    let files: [String]
    private let landlock: FileDescriptor?

    init() throws(SystemError) {
        let folders = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
        let paths = folders.split(separator: ":").map { folder in "\(folder)/notify-send" }
        let found = paths.first { access($0, X_OK) == 0 }
        // One that is installed later is found in a folder of the system.
        path = found ?? "notify-send"
        let own = found.flatMap(realPath).map { file in
            [file, "\(file.split(separator: "/").dropLast(2).map { "/\($0)" }.joined())/lib"]
        }
        files = (Self.packageFolders + (own ?? [])).filter { access($0, F_OK) == 0 }
        var sandbox = Sandbox(writable: nil, readable: files, socketFamilies: [AF_UNIX])
        sandbox.startsPrograms = true
        landlock = try sandbox.fileRules { _ in }
    }

    /// The rules of Landlock for it; nil where there is no Landlock.
    var rules: Int32? {
        switch landlock {
        case .some(let rules): rules.raw
        case .none: nil
        }
    }
}
