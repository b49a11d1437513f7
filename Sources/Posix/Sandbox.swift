import CPosix

/// Gives up what a process does not need, for ever and for all its threads: whoever takes it over gains little.
package struct Sandbox: Sendable {
    /// The only folder below which files may be written. Reading is not restricted.
    package var folder: String
    /// Families of sockets that may still be opened, such as `AF_UNIX`.
    package var socketFamilies: [Int32]
    /// Whether connections from outside may be taken.
    package var mayListen: Bool

    package init(folder: String, socketFamilies: [Int32], mayListen: Bool) {
        self.folder = folder
        self.socketFamilies = socketFamilies
        self.mayListen = mayListen
    }

    /// Also for good: no new privileges, no other program, no other process. A kernel without Landlock or seccomp leaves
    /// their part out.
    package func enter() throws(SystemError) {
        let code = posix_sandbox(folder, socketFamilies, socketFamilies.count, mayListen)
        if code != 0 { throw SystemError("sandbox", code: code) }
    }
}
