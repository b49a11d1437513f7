package import Glibc
import Posix

/// Somebody without any privilege. Tests that root runs let this user run what users run; tests that another user runs, that
/// user.
package struct OrdinaryUser: Sendable {
    package let id: uid_t
    package let group: gid_t
    package let name: String
    package let home: String

    private static let testAccount = "oriel-test"

    /// Makes the account when it is asked for first.
    package static let shared = geteuid() == 0 ? made() : OrdinaryUser(getpwuid(geteuid()).pointee)

    private init(_ entry: passwd) {
        id = entry.pw_uid
        group = entry.pw_gid
        name = String(cString: entry.pw_name)
        home = String(cString: entry.pw_dir)
    }

    private static func made() -> OrdinaryUser {
        if let entry = getpwnam(testAccount) { return OrdinaryUser(entry.pointee) }
        _ = try? Subprocess.run(["useradd", "--create-home", "--shell", "/bin/bash", testAccount])
        guard let entry = getpwnam(testAccount) else { preconditionFailure("cannot make the user \(testAccount)") }
        return OrdinaryUser(entry.pointee)
    }

    /// The command line as this user runs it, without a way back to root.
    package func running(_ command: [String]) -> [String] {
        guard geteuid() == 0 else { return command }
        let identity = [
            "--reuid=\(id)", "--regid=\(group)", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all",
        ]
        // What a login sets, as far as it names the user.
        let environment = ["env", "HOME=\(home)", "USER=\(name)", "LOGNAME=\(name)"]
        return ["setpriv"] + identity + ["--"] + environment + command
    }

    /// Gives a file or folder to this user.
    package func own(_ path: String) {
        let code = lchown(path, id, group)
        precondition(code == 0 || geteuid() != 0, "cannot give \(path) away")
    }

    /// A script that runs a program as this user does, whoever runs the script.
    ///
    /// - Parameter folder: one that all may enter; gets the script, and a copy of the program, which may lie where only root
    ///   can see it.
    package func launcher(of program: String, in folder: TemporaryDirectory) throws -> String {
        guard geteuid() == 0 else { return program }
        let name = String(program[program.index(after: program.lastIndex(of: "/")!)...])
        chmod(folder.path, 0o755)
        mkdir(folder.file("bin"), 0o755)
        try Subprocess.run(["install", "-m", "755", program, folder.file("bin/\(name)")])
        let installed = folder.file("bin/\(name)")
        let command = running([installed]).joined(separator: " ")
        let script = "#!/bin/sh\n[ $(id -u) = 0 ] || exec \(installed) \"$@\"\nexec \(command) \"$@\"\n"
        try FileDescriptor.open(folder.file(name), O_WRONLY | O_CREAT).write(script)
        chmod(folder.file(name), 0o755)
        return folder.file(name)
    }
}
