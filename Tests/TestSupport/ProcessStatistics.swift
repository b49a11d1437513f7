package import Glibc
import Posix

/// What the kernel knows of a running program.
package struct ProcessStatistics: Equatable, Sendable {
    /// The state letter of proc(5), such as `S` for sleeping.
    package let state: Character
    package let parent: pid_t
    /// CPU time used so far in user and kernel mode.
    package let cpuTime: Duration
    package let residentBytes: Int
    package let threadCount: Int
    package let descriptorCount: Int

    /// Nil when there is no such process.
    package init?(of pid: pid_t) {
        guard let text = procFile("/proc/\(pid)/stat"), let nameEnd = text.lastIndex(of: ")") else { return nil }
        // Fields are numbered from 1 in proc(5); the third is the first after the name.
        let fields = text[nameEnd...].dropFirst(2).split(separator: " ")
        func number(_ field: Int) -> Int { Int(fields[field - 3]) ?? 0 }
        let tick = 1.0 / Double(sysconf(Int32(_SC_CLK_TCK)))
        state = fields[0].first ?? "?"
        parent = pid_t(number(4))
        cpuTime = .seconds(Double(number(14) + number(15)) * tick)
        threadCount = number(20)
        residentBytes = number(24) * sysconf(Int32(_SC_PAGESIZE))
        descriptorCount = entryCount("/proc/\(pid)/fd")
    }
}

private func procFile(_ path: String) -> String? {
    guard let file = try? FileDescriptor.open(path, O_RDONLY) else { return nil }
    var bytes = [UInt8](repeating: 0, count: 4096)
    guard let count = try? bytes.withUnsafeMutableBytes({ try file.read(into: $0, at: 0) }) else { return nil }
    return String(decoding: bytes.prefix(count), as: UTF8.self)
}

private func entryCount(_ path: String) -> Int {
    guard let directory = opendir(path) else { return 0 }
    defer { closedir(directory) }
    var count = -2  // "." and ".."
    while readdir(directory) != nil { count += 1 }
    return count
}
