import Media
import TestSupport
import Testing
import Time

@testable import Motion

@Suite struct ChangeWatchTests {
    /// A screen of 1920x1080, and when its changes were motion.
    private struct Screen {
        static let columns = 30
        static let rows = 17

        var watch: ChangeWatch
        /// ms since the beginning, which is a second after a full minute.
        private(set) var motion: [Int] = []
        var waits = true
        /// Changes that are to come.
        private var changes: [(at: Int, tiles: [(Int, Int)])] = []

        init(_ sensitivity: MotionSensitivity, zones: [MotionZone] = []) {
            watch = ChangeWatch(sensitivity, zones: zones)
        }

        mutating func change(at time: Int, _ tiles: [(Int, Int)]) { changes.append((time, tiles)) }

        /// A tile, or a square of them.
        mutating func tick(_ times: some Sequence<Int>, at place: (Int, Int), side: Int = 1) {
            for time in times {
                change(at: time, (0..<side * side).map { (place.0 + $0 % side, place.1 + $0 / side) })
            }
        }

        /// As a capture process tells of it, 30 times a second.
        mutating func run(until end: Int) {
            watch.learn(from: .seconds(1000))
            let frames = Dictionary(grouping: changes) { ($0.at * 30 + 999) / 1000 }
            for frame in 0...end * 30 / 1000 {
                let now = Instant.seconds(1000) + .seconds(frame) / 30
                let time = frame * 1000 / 30
                while let deadline = watch.deadline, deadline <= now {
                    if let instant = watch.turn(at: deadline) { note(instant) }
                }
                guard let changed = frames[frame] else { continue }
                var change = TileChange(columns: Self.columns, rows: Self.rows)
                for (column, row) in changed.flatMap(\.tiles) { change[column, row] = true }
                if watch.take(change, at: now, date: 60_001.5 + Double(time) / 1000, waits: waits) { note(now) }
            }
        }

        private mutating func note(_ instant: Instant) {
            motion.append(Int(((instant - .seconds(1000)) / .milliseconds(1)).rounded()))
        }
    }

    /// The carets of terminals, editors and browsers.
    @Test(arguments: [[500], [530], [600], [600, 300], [1000], [800, 400]]) func aCaretIsNoMotion(gaps: [Int]) {
        var screen = Screen(.high)
        var time = 700
        for count in 0..<200 {
            screen.tick([time], at: (12, 9))
            time += gaps[count % gaps.count]
        }
        screen.run(until: time)
        #expect(screen.motion == [])
    }

    /// It stands at the edge of two tiles, and moves on with what is typed.
    @Test func typingIsMotionButNotTheCaretAfterwards() {
        var screen = Screen(.high)
        screen.tick([6000, 6180, 6290, 6420, 6600, 6700], at: (4, 4))
        for count in 0..<100 { screen.change(at: 7200 + count * 530, [(4, 4), (5, 4)]) }
        screen.run(until: 50_000)
        #expect(!screen.motion.isEmpty && screen.motion.allSatisfy { $0 < 8000 }, "\(screen.motion)")
    }

    /// Ticks come late on a busy machine, and are drawn in two steps.
    @Test(arguments: 0..<20) func aClockIsNoMotion(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var screen = Screen(.high)
        for second in 0..<400 {
            let late = Int.random(in: 0...(second < 5 ? 30 : 250), using: &random)
            let place = (27, 0)
            screen.tick([second * 1000 + late, second * 1000 + late + 40], at: place, side: second % 10 == 0 ? 3 : 2)
        }
        screen.run(until: 400_000)
        #expect(screen.motion == [])
    }

    /// A caret's timer starts when its last tick is drawn, a clock's with the second. One tick of ten is up to 0.7 s late; in the first seconds
    /// too, in which a rhythm is learned.
    @Test(arguments: [([1000], true), ([600, 300], false), ([530], false)] as [([Int], Bool)])
    func lateTicksAreNoMotion(gaps: [Int], isClock: Bool) {
        let moving = (0..<200).count { seed in
            var random = SplitMix(seed: UInt64(seed))
            var screen = Screen(.high)
            var (time, last) = (500, 0)
            for count in 0..<40 {
                let isLate = Int.random(in: 0..<10, using: &random) == 0
                last = max(last + 1, time + Int.random(in: isLate ? 60...700 : 0...60, using: &random))
                screen.tick([last], at: (12, 9))
                time = (isClock ? time : last) + gaps[count % gaps.count]
            }
            screen.run(until: time + 8000)
            return !screen.motion.isEmpty
        }
        #expect(moving == 0)
    }

    /// They are in the place of a clock, and without a rhythm of their own. The first ones may be late ticks.
    @Test(arguments: 0..<20) func moreChangesThanTicksAreMotion(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var screen = Screen(.high)
        screen.tick((0..<20).map { 500 + $0 * 1000 }, at: (27, 0))
        var time = 19_700
        for _ in 0..<30 {
            screen.tick([time], at: (27, 0))
            time += Int.random(in: 210...700, using: &random)
        }
        screen.run(until: 50_000)
        #expect(screen.motion.first.map { 19_500..<30_000 ~= $0 } ?? false, "\(screen.motion)")
    }

    /// Once a minute, with the minute of the machine's clock.
    @Test func aClockOfMinutesIsNoMotion() {
        var screen = Screen(.high)
        for minute in 0..<30 { screen.tick([minute * 60_000 + 58_700], at: (27, 0)) }
        screen.run(until: 1_800_000)
        #expect(screen.motion == [])
    }

    /// Something small, once: it counts from when it was, and is told when it is clear that it is no tick.
    @Test func aLampIsMotion() {
        var screen = Screen(.high)
        screen.tick([20_000], at: (3, 3))
        screen.tick((0..<200).map { $0 * 530 }, at: (20, 10))
        screen.run(until: 60_000)
        #expect(screen.motion == [20_000])
    }

    /// While a clip is written, nothing waits.
    @Test func aLampIsMotionAtOnceInAClip() {
        var screen = Screen(.high)
        screen.waits = false
        screen.tick([20_000], at: (3, 3))
        screen.run(until: 20_100)
        #expect(screen.motion == [20_000])
    }

    @Test func aFilmIsMotionAtOnce() {
        var screen = Screen(.medium)
        for frame in 0..<20 {
            screen.tick([5000 + frame * 40], at: (10, 5), side: 6)
        }
        screen.run(until: 5900)
        #expect(screen.motion.first.map { 5000...5040 ~= $0 } ?? false)
    }

    /// A small picture that moves all the time.
    @Test func aSpinnerIsMotion() {
        var screen = Screen(.high)
        screen.tick((0..<100).map { 5000 + $0 * 66 }, at: (10, 5))
        screen.run(until: 12_000)
        #expect(screen.motion.first.map { 5300...5500 ~= $0 } ?? false, "\(screen.motion)")
    }

    /// Of 510 tiles, a hundredth are 5.1, and a fifth 102.
    @Test(
        arguments: [
            (MotionSensitivity.low, 101, false), (.low, 102, true), (.medium, 5, false), (.medium, 6, true),
            (.high, 1, true),
        ] as [(MotionSensitivity, Int, Bool)]
    )
    func theSensitivityIsAShareOfThePicture(_ sensitivity: MotionSensitivity, count: Int, isMotion: Bool) {
        var screen = Screen(sensitivity)
        screen.waits = false
        screen.change(at: 6000, (0..<count).map { ($0 % Screen.columns, $0 / Screen.columns) })
        screen.run(until: 7000)
        #expect(screen.motion.isEmpty != isMotion)
    }

    /// Changes within a second count together.
    @Test(arguments: [(150, true), (250, false)]) func smallChangesAddUp(gap: Int, isMotion: Bool) {
        var screen = Screen(.medium)
        screen.waits = false
        for count in 0..<6 { screen.tick([6000 + count * gap], at: (count * 4, 8)) }
        screen.run(until: 20_000)
        #expect(screen.motion.isEmpty != isMotion)
    }

    /// One more than carets and clocks may be.
    @Test(arguments: [(32, false), (33, true)]) func manyPlacesAreMotionAtOnce(count: Int, isMotion: Bool) {
        var screen = Screen(.high)
        screen.change(at: 6000, (0..<count).map { ($0 % 15 * 2, $0 / 15 * 2) })
        screen.run(until: 7000)
        #expect(screen.motion == (isMotion ? [6000] : []))
    }

    /// A sender that was taken over tells of as many places as there can be, one after the other. It took minutes without a limit.
    @Test func aFloodOfPlacesIsBounded() {
        var watch = ChangeWatch(.high, zones: [])
        var motions = 0
        for index in 0..<4000 {
            var change = TileChange(columns: 256, rows: 256)
            for place in 0..<32 { change[(index * 32 + place) % 128 * 2, (index * 32 + place) / 128 % 128 * 2] = true }
            let now = Instant.seconds(1000) + .milliseconds(index / 2)
            if watch.take(change, at: now, date: 30, waits: true) { motions += 1 }
        }
        #expect(motions > 3000)
    }

    @Test func onlyZonesCount() {
        let zone = MotionZone(x: 640, y: 640, width: 100, height: 64)
        var screen = Screen(.high, zones: [zone])
        screen.tick([5500], at: (0, 0), side: 9)
        screen.tick([6000], at: (11, 10), side: 6)
        screen.tick([7000], at: (12, 10), side: 6)
        screen.run(until: 20_000)
        #expect(screen.motion == [6000])
    }

    /// A hostile sender may tell of any size.
    @Test func anyChangeIsSurvived() {
        var random = SplitMix(seed: 3)
        var watch = ChangeWatch(.high, zones: [MotionZone(x: 0, y: 0, width: 50_000, height: 1)])
        for _ in 0..<200 {
            let (columns, rows) = (Int.random(in: 1...256, using: &random), Int.random(in: 1...256, using: &random))
            var change = TileChange(columns: columns, rows: rows)
            for _ in 0..<30 {
                change[.random(in: 0..<columns, using: &random), .random(in: 0..<rows, using: &random)] = true
            }
            let now = Instant(nanoseconds: .random(in: 0..<1 << 62, using: &random))
            _ = watch.take(change, at: now, date: .random(in: -1e12...1e12, using: &random), waits: true)
            _ = watch.turn(at: now)
        }
    }
}
