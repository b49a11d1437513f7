import Control
import Glibc
package import Posix

/// Where the sound server is, as libpulse finds it.
package enum SoundServerPlace {
    /// A sandbox that reaches the sound server and the broadcast's folder. The folder of the user's own server is made if it is missing.
    ///
    /// - Parameter note: tells people of a server on another machine.
    package static func sandbox(_ folder: String, _ note: (String) -> Void) -> Sandbox {
        // A name without a kind is that of a machine, unless it is a path; several names may be given, each after the name of the machine
        // that it is for.
        let servers = StateFolder.environment("PULSE_SERVER")?.split(separator: " ").map { server in
            server.last.map { _ in server.drop { $0 != "}" }.dropFirst() }.flatMap { $0.isEmpty ? nil : $0 } ?? server
        }
        let isRemote = servers?.contains { !$0.hasPrefix("/") && !$0.hasPrefix("unix:") } ?? false
        let home = StateFolder.environment("HOME")
        let configuration = StateFolder.environment("XDG_CONFIG_HOME") ?? home.map { "\($0)/.config" }
        let runtimeFolder =
            StateFolder.environment("PULSE_RUNTIME_PATH")
            ?? StateFolder.environment("XDG_RUNTIME_DIR").map { "\($0)/pulse" }
        // Where that of the user's own server is missing, libpulse makes it with each attempt to connect, which the sandbox forbids.
        if servers == nil, let runtimeFolder, isOwn(folderOf: runtimeFolder) { mkdir(runtimeFolder, 0o700) }
        let files =
            [
                runtimeFolder, StateFolder.environment("PULSE_CLIENTCONFIG"), StateFolder.environment("PULSE_COOKIE"),
                configuration.map { "\($0)/pulse" },
                home.map { "\($0)/.pulse" }, home.map { "\($0)/.pulse-cookie" }, "/var/lib/dbus/machine-id",
            ].compactMap(\.self) + SoundClient.folders
        if isRemote { note("the sound server is reached by the network, as PULSE_SERVER says") }
        return Sandbox(
            writable: folder,
            readable: files.filter { access($0, F_OK) == 0 },
            socketFamilies: isRemote ? [AF_UNIX, AF_INET, AF_INET6] : [AF_UNIX]
        )
    }

    /// In somebody else's folder, as `sudo -E` names it, one of ours would be in the way of their server.
    private static func isOwn(folderOf path: String) -> Bool {
        var attributes = stat()
        // It may be missing itself, so there is no way back up from it.
        let end = path.lastIndex(of: "/") ?? path.startIndex
        return stat(String(path[..<end]), &attributes) == 0 && attributes.st_uid == geteuid()
    }
}
