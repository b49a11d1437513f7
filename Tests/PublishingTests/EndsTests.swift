import Testing

@testable import Publishing

@Suite struct EndsTests {
    private struct Obstacle: Error {}

    private final class Log {
        var lines: [String] = []
    }

    /// Stands for a sender: each part begins after the one before, and the last may be one that cannot.
    private func run(_ parts: Int, of all: Int, _ log: Log) throws {
        var ends = Ends()
        try begin(parts, of: all, &ends, log)
        log.lines.append("run")
    }

    private func begin(_ parts: Int, of all: Int, _ ends: inout Ends, _ log: Log) throws {
        for part in 1...all {
            if part > parts { throw Obstacle() }
            log.lines.append("begin \(part)")
            ends.add { log.lines.append("end \(part)") }
        }
    }

    @Test func theLastThatBeganEndsFirst() throws {
        let log = Log()
        try run(3, of: 3, log)
        #expect(log.lines == ["begin 1", "begin 2", "begin 3", "run", "end 3", "end 2", "end 1"])
    }

    @Test(arguments: 0..<4) func whatBeganBeforeAnObstacleEnds(parts: Int) {
        let log = Log()
        #expect(throws: Obstacle.self) { try run(parts, of: 4, log) }
        let begun = (0..<parts).map { "begin \($0 + 1)" }
        #expect(log.lines == begun + (0..<parts).reversed().map { "end \($0 + 1)" })
    }
}
