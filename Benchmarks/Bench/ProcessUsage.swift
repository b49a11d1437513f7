import Foundation
import Glibc

extension ChildProcess {
    /// User and system time so far, in seconds, of all its threads.
    func cpuSeconds() throws -> Double {
        let stat = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
        // The name in parentheses may hold spaces; utime and stime are the 14th and 15th field of the line.
        guard let end = stat.lastIndex(of: ")") else { throw BenchError("/proc/\(pid)/stat is malformed") }
        let fields = stat[end...].split(separator: " ")
        guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else {
            throw BenchError("/proc/\(pid)/stat is malformed")
        }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// The proportional set size in MB.
    func memory() throws -> Double {
        let rollup = try String(contentsOfFile: "/proc/\(pid)/smaps_rollup", encoding: .utf8)
        let line = rollup.split(separator: "\n").first { $0.hasPrefix("Pss:") }
        guard let kibibytes = line?.split(separator: " ").dropFirst().first.flatMap({ Double($0) }) else {
            throw BenchError("/proc/\(pid)/smaps_rollup has no Pss")
        }
        return kibibytes * 1024 / 1e6
    }
}
