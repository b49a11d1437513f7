import Foundation

/// The results of a soak so far.
final class SoakLedger {
    /// The allowed growth of a process after half of the time, in megabytes, for pictures of other sizes.
    private static let memoryTolerance = 8.0

    private var times: [SoakFault: [Double]] = [:]
    private var late: [SoakFault: Int] = [:]
    private var baseline: [String: SoakScene.Usage] = [:]

    var hasBaseline: Bool { !baseline.isEmpty }

    func noteBaseline(_ usage: [String: SoakScene.Usage]) { baseline = usage }

    /// - Parameter seconds: until pictures flowed again; nil if that took too long.
    func note(_ fault: SoakFault, _ seconds: Double?) {
        times[fault, default: []].append(seconds ?? .infinity)
        guard seconds ?? .infinity > fault.deadline else { return }
        late[fault, default: 0] += 1
        say("late: \(fault.rawValue), \(seconds.map { $0.text(2) } ?? "more than 10") s")
    }

    func printLine(minutes: Double, _ readings: SoakScene.Readings, _ usage: [String: SoakScene.Usage]) {
        let memory = usage.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.memory.text(1)) MB" }.joined(
            separator: ", "
        )
        say(
            "\(minutes.text(0)) min: \(readings.frames) frames read, \(readings.received) numbers received, "
                + "\(readings.torn) torn, \(readings.backwards) backwards; \(memory)"
        )
    }

    private func say(_ line: String) {
        print(line)
        fflush(nil)
    }

    func printReport(_ readings: SoakScene.Readings, _ usage: [String: SoakScene.Usage], leftovers: [String]) {
        var faults = Table(["fault", "times", "median s", "longest s", "to reach", "late"])
        for fault in SoakFault.allCases {
            guard let times = times[fault] else { continue }
            faults.rows.append([
                fault.rawValue, "\(times.count)", times.median!.text(3),
                times.max()!.isFinite ? times.max()!.text(3) : "never",
                "≤ \(fault.deadline.text(1))", "\(late[fault] ?? 0)",
            ])
        }
        print("\n\(faults.aligned)\n")
        var processes = Table(["process", "MB at half time", "MB at the end", "descriptors", "threads"])
        for (name, before) in baseline.sorted(by: { $0.key < $1.key }) {
            guard let after = usage[name] else { continue }
            processes.rows.append([
                name, before.memory.text(1), after.memory.text(1), "\(before.descriptors) → \(after.descriptors)",
                "\(before.threads) → \(after.threads)",
            ])
        }
        print("\(processes.aligned)\n")
        print("\(readings.frames) frames read in the bridge, \(readings.received) numbers received")
        print("torn: \(readings.torn), backwards: \(readings.backwards), late: \(late.values.reduce(0, +))")
        print("left behind: \(leftovers.isEmpty ? "nothing" : leftovers.joined(separator: ", "))")
    }

    func hasFailed(_ readings: SoakScene.Readings, _ usage: [String: SoakScene.Usage], leftovers: [String]) -> Bool {
        let leaks = baseline.contains { name, before in
            guard let after = usage[name] else { return true }
            return after.memory > before.memory + Self.memoryTolerance || after.descriptors > before.descriptors
                || after.threads > before.threads
        }
        return leaks || !leftovers.isEmpty || readings.torn + readings.backwards > 0 || !late.isEmpty
    }
}
