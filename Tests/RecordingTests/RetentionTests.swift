import TestSupport
import Testing
import Time

@testable import Recording

@Suite struct RetentionTests {
    private static func file(_ name: String, _ bytes: UInt64, days: Int) -> Retention.File {
        Retention.File(name: name, bytes: bytes, age: .seconds(86_400 * days))
    }

    private let files = [file("c", 100, days: 1), file("a", 100, days: 8), file("b", 100, days: 3)]

    @Test func withoutLimitsAllStay() { #expect(Retention().removals(of: files, writing: 0, free: 0) == []) }

    @Test func theOldestGoFirst() {
        var retention = Retention()
        retention.bytes = 150
        #expect(retention.removals(of: files, writing: 10, free: 0) == ["a", "b"])
        retention.bytes = 310
        #expect(retention.removals(of: files, writing: 10, free: 0) == [])
    }

    @Test func whatIsTooOldGoes() {
        var retention = Retention()
        retention.age = .seconds(86_400 * 2)
        #expect(retention.removals(of: files, writing: 0, free: 0) == ["a", "b"])
    }

    @Test func othersHaveTheirRoom() {
        var retention = Retention()
        retention.reserve = 1000
        #expect(retention.removals(of: files, writing: 0, free: 850) == ["a", "b"])
        #expect(retention.removals(of: files, writing: 0, free: 1000) == [])
        #expect(retention.removals(of: files, writing: 0, free: 0) == ["a", "b", "c"], "no more than there are")
    }

    /// Against a naive reference: remove one after the other until all limits hold.
    @Test(arguments: 0..<200) func noMoreGoThanMust(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let files = (0..<Int.random(in: 0...20, using: &random)).map { number in
            Self.file("\(number)", .random(in: 1...1000, using: &random), days: .random(in: 0...30, using: &random))
        }
        var retention = Retention()
        if Bool.random(using: &random) { retention.age = .seconds(86_400 * Int.random(in: 0...30, using: &random)) }
        if Bool.random(using: &random) { retention.bytes = .random(in: 0...8000, using: &random) }
        if Bool.random(using: &random) { retention.reserve = .random(in: 0...8000, using: &random) }
        let (writing, free) = (UInt64.random(in: 0...500, using: &random), UInt64.random(in: 0...5000, using: &random))
        let removed = retention.removals(of: files, writing: writing, free: free)
        func holds(_ kept: [Retention.File]) -> Bool {
            let total = kept.reduce(writing) { $0 + $1.bytes }
            let gone = files.reduce(0) { $0 + $1.bytes } - kept.reduce(0) { $0 + $1.bytes }
            return kept.allSatisfy { file in retention.age.map { file.age <= $0 } ?? true }
                && retention.bytes.map { total <= $0 } ?? true && free + gone >= retention.reserve
        }
        let kept = files.filter { !removed.contains($0.name) }
        #expect(holds(kept) || kept.isEmpty)
        #expect(removed.isEmpty || !holds(kept + files.filter { $0.name == removed.last }))
        for name in removed {
            let file = files.first { $0.name == name }!
            #expect(kept.allSatisfy { $0.age <= file.age })
        }
    }

    /// A machine without a clock of its own may begin in 1970, and one whose battery is empty anywhere.
    @Test(arguments: [-400, 400]) func aClockThatIsSetMakesNoFileOld(days: Int) {
        var watch = ClockWatch()
        let (wall, running) = (Duration.seconds(86_400 * 20_000), Duration.seconds(5))
        #expect(watch.look(wall: wall, running: running) == nil)
        // Corrected by a time server, and once more.
        for minute in 1...10 {
            let passed = Duration.seconds(60 * minute)
            #expect(watch.look(wall: wall + passed + .seconds(minute), running: running + passed) == nil)
        }
        let (changed, later) = (wall + .seconds(86_400 * days), running + .seconds(700))
        #expect(watch.look(wall: changed + .seconds(700), running: later) == .zero)
        #expect(watch.look(wall: changed + .seconds(800), running: later + .seconds(100)) == .seconds(100))
        // Set right again.
        #expect(watch.look(wall: wall + .seconds(900), running: later + .seconds(200)) == .zero)
    }

    /// A minute is the least that counts, in both directions.
    @Test(arguments: [(59, false), (60, true), (-59, false), (-60, true)])
    func aSmallCorrectionIsNoStep(seconds: Int, isStep: Bool) {
        var watch = ClockWatch()
        let wall = Duration.seconds(86_400 * 20_000)
        #expect(watch.look(wall: wall, running: .seconds(5)) == nil)
        let oldest = watch.look(wall: wall + .seconds(60 + seconds), running: .seconds(65))
        #expect(oldest == (isStep ? .zero : nil))
    }
}
