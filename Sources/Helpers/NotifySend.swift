import Glibc
package import Posix

/// The program that shows notifications, as PATH names it when the process that asks starts.
///
/// Whatever it is, it reads the system's files and its own, and writes none.
package final class NotifySend {
    /// Where package managers keep programs with their libraries, beside the folders of the system.
    private static let packageFolders = ["/nix/store", "/gnu/store", "/opt", "/home/linuxbrew/.linuxbrew"]

    package let path: String
    /// The files and folders that it may read beside the system's.
    package let files: [String]
    private let landlock: FileDescriptor?

    package init() throws(SystemError) {
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
    package var rules: Int32? {
        switch landlock {
        case .some(let rules): rules.raw
        case .none: nil
        }
    }

    /// Whether this session has a bus to show notifications by; without one, notify-send would start one.
    package static var isPossible: Bool {
        if let address = getenv("DBUS_SESSION_BUS_ADDRESS"), address.pointee != 0 { return true }
        guard let folder = getenv("XDG_RUNTIME_DIR") else { return false }
        return access("\(String(cString: folder))/bus", F_OK) == 0
    }

    /// Starts it to show a notification. Text from others is shown as it is: its markup is escaped, and it cannot be an option.
    ///
    /// - Parameters:
    ///   - options: such as `--expire-time=0`.
    ///   - output: where it tells of clicks; nil for nowhere.
    package func show(
        _ title: String,
        _ body: String,
        options: [String],
        output: Int32? = nil
    ) throws(SystemError) -> ChildProcess {
        try ChildProcess(
            path,
            arguments: ["notify-send", "--app-name=Oriel"] + options + ["--", title, Self.escaped(body)],
            descriptors: [nil, output, nil],
            tie: .child,
            boundBy: rules
        )
    }

    /// notify-send reads backslashes (`g_strcompress`), and servers markup.
    package static func escaped(_ text: String) -> String {
        var escaped = ""
        for character in text {
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\\": escaped += "&#92;"
            default: escaped.append(character)
            }
        }
        return escaped
    }
}
