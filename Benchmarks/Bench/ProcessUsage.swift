import Foundation
import Glibc

/// User and system time so far, in seconds, of all present threads of a process. To the nanosecond, unlike that of
/// /proc/PID/stat.
func processorSeconds(of pid: pid_t) throws -> Double {
    var nanoseconds = 0.0
    for thread in try threads(ofProcess: pid) {
        guard let text = try? String(contentsOfFile: "\(thread)/schedstat", encoding: .utf8),
            let time = text.split(separator: " ").first.flatMap({ Double($0) })
        else { continue }  // it has just ended
        nanoseconds += time
    }
    return nanoseconds / 1e9
}

/// The proportional set size in MB.
func proportionalMemory(of pid: pid_t) throws -> Double {
    let rollup = try String(contentsOfFile: "/proc/\(pid)/smaps_rollup", encoding: .utf8)
    let line = rollup.split(separator: "\n").first { $0.hasPrefix("Pss:") }
    guard let kibibytes = line?.split(separator: " ").dropFirst().first.flatMap({ Double($0) }) else {
        throw BenchError("/proc/\(pid)/smaps_rollup has no Pss")
    }
    return kibibytes * 1024 / 1e6
}

private func threads(ofProcess pid: pid_t) throws -> [String] {
    let folder = "/proc/\(pid)/task"
    return try FileManager.default.contentsOfDirectory(atPath: folder).map { "\(folder)/\($0)" }
}

extension ChildProcess {
    func cpuSeconds() throws -> Double { try processorSeconds(of: pid) }

    /// The number of sleeps of its threads.
    func wakeUps() throws -> Double {
        var count = 0.0
        for thread in try threads(ofProcess: pid) {
            guard let text = try? String(contentsOfFile: "\(thread)/status", encoding: .utf8) else { continue }
            let line = text.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches:") }
            count += line?.split(separator: "\t").last.flatMap { Double($0) } ?? 0
        }
        return count
    }

    func memory() throws -> Double { try proportionalMemory(of: pid) }
}
