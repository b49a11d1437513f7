import Glibc
import Posix

/// A process that holds one of a broadcast's locks.
public struct LockHolder: Encodable, Sendable, Equatable {
    /// The process's number.
    public let pid: Int32
    /// The name by which it was started.
    public let program: String
}

extension BridgeDirectory {
    /// The processes that hold the writer's lock: one at most, and none if this process cannot see it. The kernel lists
    /// locks in `/proc` (proc(5), `fdinfo`), for processes of this user.
    public func writers() -> [LockHolder] { holders(of: BroadcastFolder.lockFile) }

    /// The processes that hold a reader's lock.
    public func readers() -> [LockHolder] { holders(of: FrameReader.lockFile) }

    func holders(of file: String) -> [LockHolder] {
        guard let lock = try? open(file, O_RDONLY), let number = try? lock.status().st_ino else { return [] }
        return entries(of: "/proc").compactMap { Int32($0) }.sorted().compactMap { pid in
            let isHolder = entries(of: "/proc/\(pid)/fdinfo").contains { entry in
                text("/proc/\(pid)/fdinfo/\(entry)").split(separator: "\n").contains { line in
                    line.hasPrefix("lock:") && line.contains("OFDLCK") && line.contains(":\(number) ")
                }
            }
            guard isHolder else { return nil }
            let program = text("/proc/\(pid)/cmdline").prefix { $0 != "\0" }.split(separator: "/").last ?? ""
            return LockHolder(pid: pid, program: String(program))
        }
    }

    private func entries(of path: String) -> [String] {
        guard let folder = try? FileDescriptor.open(path, O_RDONLY | O_DIRECTORY) else { return [] }
        return folder.entries()
    }

    private func text(_ path: String) -> String {
        guard let file = try? FileDescriptor.open(path, O_RDONLY), let bytes = try? file.readBytes(4096) else {
            return ""
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
