import Glibc
import Helpers
import Posix
import Synchronization

/// The authority file of the X server (Xsecurity(7)), as it is now.
///
/// A capture process reads no files of its user, and an X server that comes back often has another file in the place of the first one. So
/// another process reads it (`NamedFiles`). Its answer lies in memory, to which `XAUTHORITY` leads libxcb.
final class XAuthority: Sendable {
    private struct State: ~Copyable {
        let memory: FileDescriptor
        /// The content of the memory.
        var bytes: [UInt8]
        /// Whether it was read for a connection that is yet to come.
        var isNew = true
    }

    private let file: NamedFiles
    private let state: Mutex<State>

    /// Reads the file, and starts the process that reads it again, which ends with this one. From then on, `XAUTHORITY` of this process
    /// names the memory.
    ///
    /// - Returns: nil if neither `XAUTHORITY` nor `HOME` is set.
    init?() throws {
        func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
        guard let path = variable("XAUTHORITY") ?? variable("HOME").map({ "\($0)/.Xauthority" }) else { return nil }
        file = try NamedFiles([path], "the X server's authority file")
        let memory = try FileDescriptor.memory("oriel-authority")
        let bytes = FileReading.content(of: path) ?? []
        try memory.write(bytes, at: 0)
        setenv("XAUTHORITY", "/proc/self/fd/\(memory.raw)", 1)
        state = Mutex(State(memory: memory, bytes: bytes))
    }

    /// Reads the file again for the next connection. If it cannot be read, or is empty, the memory stays as it is.
    func renew() {
        state.withLock { state in
            if state.isNew { return state.isNew = false }
            guard let bytes = file.read()?.first ?? nil, !bytes.isEmpty, bytes != state.bytes else { return }
            guard ftruncate(state.memory.raw, 0) == 0, (try? state.memory.write(bytes, at: 0)) != nil else { return }
            state.bytes = bytes
        }
    }
}
