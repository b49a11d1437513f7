import CPosix
import Glibc

/// Drops rights that a process does not need, for ever. An attacker who takes it over gains little.
package struct Sandbox: Sendable {
    /// The only folder in which files may be written, without symbolic links; nil for none.
    package var writable: String?
    /// Another one.
    package var alsoWritable: String?
    /// The paths whose files may be read, besides `writable` and those of the system; nil for all paths.
    package var readable: [String]?
    /// Families of sockets that may still be opened, such as `AF_UNIX`.
    package var socketFamilies: [Int32]
    /// Whether to allow connections from outside.
    package var mayListen = false
    /// Whether to allow memory segments of System V (shmget).
    package var sharesSegments = false
    /// Whether to allow other programs to be started and interrupted, and an open terminal to be read. The programs
    /// have the same sandbox.
    package var startsPrograms = false

    /// Paths that libraries read by themselves. Dispatch looks after its threads in `/proc/TID`, which is not below
    /// `/proc/self`, and traps if it cannot. Other processes of this user are visible there, but not their memory. The
    /// last paths are targets of links in `/etc` on many systems: certificates, and files that are rewritten when the
    /// network changes.
    private static let systemPaths = [
        "/etc", "/usr", "/lib", "/lib32", "/lib64", "/proc", "/sys/devices/system/cpu", "/sys/fs/cgroup", "/dev/null",
        "/dev/random", "/dev/urandom", "/etc/ssl/certs", "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt", "/etc/resolv.conf", "/run/systemd/resolve", "/run/NetworkManager",
        "/run/resolvconf",
    ]

    /// Restricts files and filters calls. Enter the sandbox before the first thread starts: Landlock binds the calling
    /// thread, and threads that it starts later.
    ///
    /// - Parameter report: gets a sentence if the kernel, or the container around it, has no Landlock or no seccomp.
    package func enter(report: (String) -> Void) throws(SystemError) {
        // If this is refused, the calls below are too.
        _ = posix_no_new_privileges()
        if let rules = try fileRules(report: report), posix_landlock_enter(rules.raw) != 0 {
            try tolerate("landlock", errno, report)
        }
        try filterCalls(report: report)
    }

    /// Rules of Landlock, also for a program that `ChildProcess` starts: they restrict files; and signals to other
    /// processes, abstract sockets and TCP if they are not needed.
    ///
    /// - Parameter report: gets a sentence if the kernel, or the container around it, has no Landlock.
    /// - Returns: nil in that case.
    package func fileRules(report: (String) -> Void) throws(SystemError) -> FileDescriptor? {
        let version = posix_landlock_version()
        guard version > 0 else {
            try tolerate("landlock", version == 0 ? ENOSYS : errno, report)
            return nil
        }
        var files: LandlockFiles = startsPrograms ? .changing : [.changing, .execute]
        if readable != nil { files.insert(.reading) }
        let (network, scopes) = unused(version)
        let raw = posix_landlock_create(files.intersection(.known(version)).rawValue, network, scopes)
        guard raw >= 0 else {
            try tolerate("landlock", errno, report)
            return nil
        }
        let rules = FileDescriptor(taking: raw)
        for writable in [writable, alsoWritable].compactMap(\.self) {
            let allowed = files.intersection(.known(version)).subtracting([.execute, .devices, .symbolicLinks])
            try allow(allowed, below: try open(writable), in: rules)
        }
        // Programs get it in place of input and output that they do not need.
        if startsPrograms { try allow(.writing, below: try open("/dev/null"), in: rules) }
        if let readable {
            for path in readable { try allow(.reading, below: try open(path), in: rules) }
            for path in Self.systemPaths {
                if let place = try? open(path) { try allow(.reading, below: place, in: rules) }
            }
        }
        return rules
    }

    /// Refuses by seccomp, for all threads, calls that Landlock does not cover: starting programs, touching other
    /// processes, opening sockets of other families, and escaping through a terminal, a device or the modes of files.
    private func filterCalls(report: (String) -> Void) throws(SystemError) {
        var code: Int32 = 0
        for _ in 0..<8 {
            code = socketFamilies.withUnsafeBufferPointer { families in
                var calls = posix_calls(
                    families: families.baseAddress,
                    family_count: families.count,
                    may_listen: mayListen,
                    may_share_segments: sharesSegments,
                    may_start_programs: startsPrograms
                )
                return posix_filter_calls(&calls)
            }
            // A thread that is starting or ending cannot follow.
            guard code == EAGAIN || code == ESRCH else { break }
            sched_yield()
        }
        if code != 0 { try tolerate("seccomp", code, report) }
    }

    /// The rights beyond files that a version of Landlock can refuse, and that this process does not need for its
    /// sockets: binding and connecting TCP sockets (`LANDLOCK_ACCESS_NET_*`), and abstract sockets and signals outside
    /// of the sandbox (`LANDLOCK_SCOPE_*`).
    private func unused(_ version: Int32) -> (network: UInt64, scopes: UInt64) {
        let hasTCP = socketFamilies.contains(AF_INET) || socketFamilies.contains(AF_INET6)
        // X servers listen on an abstract socket. Their clients do not try the other one if it is refused.
        let (abstractSockets, signals): (UInt64, UInt64) = (socketFamilies.contains(AF_UNIX) ? 0 : 1 << 0, 1 << 1)
        return (version < 4 || hasTCP ? 0 : 0b11, version < 6 ? 0 : abstractSockets | signals)
    }

    private func allow(
        _ rights: LandlockFiles,
        below place: borrowing FileDescriptor,
        in rules: borrowing FileDescriptor
    ) throws(SystemError) {
        let isFolder = try place.status().st_mode & S_IFMT == S_IFDIR
        let rights = isFolder ? rights : rights.subtracting(.readFolder)
        let (place, rules) = (place.raw, rules.raw)
        try check("landlock") { posix_landlock_allow(rules, place, rights.rawValue) }
    }

    private func open(_ path: String) throws(SystemError) -> FileDescriptor {
        FileDescriptor(taking: try check("open") { posix_open_path(path) })
    }

    /// Continues without a part that an old kernel lacks or a container refuses: that is better than to stop.
    private func tolerate(_ part: String, _ code: Int32, _ report: (String) -> Void) throws(SystemError) {
        let error = SystemError(part, code: code)
        guard [ENOSYS, EOPNOTSUPP, EPERM, EACCES].contains(code) else { throw error }
        report("this system does not let Oriel restrict itself by \(part) (\(error.reason)): going on without")
    }
}

extension Sandbox {
    /// Those by which an X server is reached: Unix sockets, and the network if the display names a host.
    package static func socketFamilies(reaching display: String) -> [Int32] {
        let isLocal = [":", "unix:", "unix/", "/"].contains { display.hasPrefix($0) }
        return display.isEmpty || isLocal ? [AF_UNIX] : [AF_UNIX, AF_INET, AF_INET6]
    }

    package init(writable: String?, readable: [String]?, socketFamilies: [Int32]) {
        (self.writable, self.readable, self.socketFamilies) = (writable, readable, socketFamilies)
    }
}

/// Rights to files, `LANDLOCK_ACCESS_FS_*`. Moving files between folders is refused unless a rule allows it.
private struct LandlockFiles: OptionSet {
    let rawValue: UInt64

    static let execute = Self(rawValue: 1 << 0)
    static let writing = Self(rawValue: 1 << 1)
    static let readFolder = Self(rawValue: 1 << 3)
    static let reading: Self = [Self(rawValue: 1 << 2), .readFolder]
    static let truncate = Self(rawValue: 1 << 14)
    static let ioctlDevice = Self(rawValue: 1 << 15)
    /// Making symbolic links, which could mislead other processes of this user.
    static let symbolicLinks = Self(rawValue: 1 << 12)
    /// Making device files, and calls to devices.
    static let devices: Self = [Self(rawValue: 1 << 6), Self(rawValue: 1 << 11), .ioctlDevice]
    /// Writing a file, removing folders and files, making anything, and the rights of later kernels.
    static let changing: Self = [
        Self(rawValue: 1 << 1), Self(rawValue: 0x1FF0), .truncate, .ioctlDevice,
    ]

    /// The rights that a version of Landlock knows.
    static func known(_ version: Int32) -> Self {
        var rights = Self(rawValue: 0x1FFF)
        if version >= 3 { rights.insert(.truncate) }
        if version >= 5 { rights.insert(.ioctlDevice) }
        return rights
    }
}
