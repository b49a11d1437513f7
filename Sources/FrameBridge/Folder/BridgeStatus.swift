import Glibc
import Posix
public import Time

/// The status file: `key=value` lines, at most 1 KiB, replaced in one step. It is for people, shell scripts, and
/// readers that look for the current generation. While the capture process lives, the header page decides.
public struct BridgeStatus: Sendable, Equatable {
    /// The capture process's own state.
    public var state: BroadcastState
    /// The reason for the state, in a few words; empty if there is none.
    public var reason: String
    /// The current generation; 0 if there is no frames file.
    public var generation: UInt64
    /// The capture process.
    public var pid: Int32
    /// When the capture process started.
    public var startedAt: Instant
    /// The process whose window is shown; nil if no window is shown, or its process is unknown.
    public internal(set) var windowProcess: Int32?

    /// The last failure of this capture process; nil without one.
    public internal(set) var lastError: Mishap?

    /// A failure.
    public struct Mishap: Sendable, Equatable {
        /// A sentence for a person.
        public let reason: String
        /// The time of the failure.
        public let at: Instant
    }

    static let fileName = "status"

    static func framesFile(_ generation: UInt64) -> String { RingFile.name(of: FrameRing.name, generation) }

    var text: String {
        """
        abi=\(Layout.major).\(Layout.minor)
        state=\(state.name)
        reason=\(Self.line(reason))
        gen=\(String(generation, radix: 16))
        pid=\(pid)
        data=\(generation == 0 ? "" : Self.framesFile(generation))
        started_ns=\(startedAt.nanoseconds)

        """ + (windowProcess.map { "window_pid=\($0)\n" } ?? "")
            + (lastError.map { "error=\(Self.line($0.reason))\nerror_ns=\($0.at.nanoseconds)\n" } ?? "")
    }

    private static func line(_ text: String) -> String {
        String(decoding: text.filter { !$0.isNewline }.utf8.prefix(300), as: UTF8.self)
    }

    /// Replaces the status file, and notifies those who watch the writer's lock. Call it also for changes in the header
    /// alone.
    func write(to directory: BridgeDirectory, holding lock: borrowing FileDescriptor) throws(BridgeError) {
        defer { lock.touch() }
        try directory.replaceText(Self.fileName, with: text)
    }

    /// Whether the status file has this text.
    func isWritten(in directory: BridgeDirectory) -> Bool {
        (try? directory.readText(Self.fileName, limit: 1024)) == text
    }
}

extension BridgeStatus {
    /// Nil if a necessary line is missing or invalid.
    init?(text: String) {
        var fields: [Substring: Substring] = [:]
        for line in text.split(separator: "\n") {
            guard let equals = line.firstIndex(of: "=") else { continue }
            fields[line[..<equals]] = line[line.index(after: equals)...]
        }
        guard let state = fields["state"].flatMap({ BroadcastState(name: $0) }),
            let generation = fields["gen"].flatMap({ UInt64($0, radix: 16) }),
            let pid = fields["pid"].flatMap({ Int32($0) }),
            let startedAt = fields["started_ns"].flatMap({ UInt64($0) }).map(Instant.init(nanoseconds:))
        else { return nil }
        self.init(
            state: state,
            reason: String(fields["reason"] ?? ""),
            generation: generation,
            pid: pid,
            startedAt: startedAt
        )
        windowProcess = fields["window_pid"].flatMap { Int32($0) }.flatMap { $0 > 0 ? $0 : nil }
        if let reason = fields["error"], let at = fields["error_ns"].flatMap({ UInt64($0) }) {
            lastError = Mishap(reason: String(reason), at: Instant(nanoseconds: at))
        }
    }
}

extension BridgeDirectory {
    /// The status file as it stands; nil if it is missing or invalid.
    public func status() throws(BridgeError) -> BridgeStatus? {
        try readText(BridgeStatus.fileName, limit: 1024).flatMap { BridgeStatus(text: $0) }
    }

    /// Whether the last capture process said goodbye, or there never was one. Only a clean end counts: if its status is
    /// damaged, or missing while other files of it are left, it has died. Means nothing while a capture process lives.
    func hasEndedWell() throws(BridgeError) -> Bool {
        if let text = try readText(BridgeStatus.fileName, limit: 1024) {
            return BridgeStatus(text: text)?.state == .stopped
        }
        return !fileNames().contains { $0 == ControlFile.fileName || RingFile.isFile($0, of: FrameRing.name) }
    }

    /// Whether a capture process lives, by its lock. The kernel frees the lock with the process.
    public func hasWriter() throws(BridgeError) -> Bool { try isLocked(BroadcastFolder.lockFile) }

    /// Whether there are readers, by the shared lock on `reader.lock`.
    public func hasReaders() throws(BridgeError) -> Bool { try isLocked(FrameReader.lockFile) }

    func isLocked(_ file: String) throws(BridgeError) -> Bool {
        guard let lock = try open(file, O_RDONLY) else { return false }
        return try calling(on: file) { () throws(SystemError) in try lock.isLockedByAnother(against: .exclusive) }
    }
}
