import Media
import Time

/// Finds out by the changes of a picture whether something moves. Sans-IO.
///
/// The pointer is in no change. A caret, and a clock that shows seconds, is a small place that changes in a steady rhythm; a clock that shows
/// minutes is one that changes with a minute. So a change of a small place counts only after a while without a rhythm, and all others at once.
struct ChangeWatch {
    /// A small place: carets and clocks are smaller.
    static let mostTiles = 16
    /// More places that change at once, or wait, are neither: each costs time, and a sender that was taken over may tell of any.
    private static let mostPlaces = 32
    /// Changes that follow each other faster are one.
    private static let burstGap = Duration.milliseconds(200)
    /// One that lasts as long is no tick.
    private static let burstTime = Duration.milliseconds(300)
    /// How long a change of a small place may turn out to be the beginning of a rhythm: three seconds of a clock, and some time.
    static let patience = Duration.milliseconds(3500)
    /// After the beginning of a picture nobody knows what has a rhythm: a change of a small place does not count until this time has passed.
    /// A place that changes within it has twice as long from its first change, so that a busy machine may show some of its ticks late.
    static let learningTime = Duration.seconds(5)
    /// Ticks that make a rhythm.
    private static let ticks = 2
    /// And how long they last at least: some changes without a rhythm are alike by chance.
    private static let rhythmTime = Duration.milliseconds(1800)
    /// Changes beside a rhythm that end it. One that is too early counts twice.
    private static let mostMisses = 5
    /// The changes of how long a time count together.
    private static let window = Duration.seconds(1)
    /// A tick of a clock is seen so early and late.
    private static let minuteTick = -0.2..<1.5

    private struct Tile {
        /// Nil before the first change.
        var burst: (begin: Instant, end: Instant)?
        /// Until a change counts. Nil if the first change came after the learning time.
        var learnsUntil: Instant?
        /// Between the last beginnings of a burst.
        private(set) var gaps: (Duration, Duration) = (.zero, .zero)
        private var ticks = 0
        /// How long they have been ticks.
        private var time = Duration.zero
        var misses = 0
        /// How long ticks have been due: at most two of them.
        var due = Duration.zero
        /// When it moved last.
        var movedAt: Instant?

        /// Whether it has a rhythm.
        var isKnown: Bool { ticks >= ChangeWatch.ticks && time >= ChangeWatch.rhythmTime }

        func fits(_ gap: Duration, within tolerance: Duration) -> Bool {
            [gaps.0, gaps.1, gaps.0 + gaps.1].contains {
                $0 > .zero && gap - $0 < tolerance && $0 - gap < tolerance
            }
        }

        mutating func learn(_ gap: Duration, fits: Bool) {
            (ticks, time) = fits ? (ticks + 1, time + gap) : (0, .zero)
            (misses, due) = (0, .zero)
            gaps = (gaps.1, gap)
        }
    }

    private enum Tick {
        /// One of a rhythm.
        case regular
        /// It may be one of a rhythm, by the number of them.
        case late
        case none
    }

    private let sensitivity: MotionSensitivity
    private let zones: [MotionZone]
    private var columns = 0
    private var rows = 0
    private var learnsUntil = Instant.start
    private var tiles: [Tile] = []
    private var isInZone: [Bool] = []
    private var zoneTiles = 0
    /// The changes of small places that may turn out to be ticks, oldest first.
    private var pending: [(place: [Int], at: Instant)] = []
    /// The tiles that have moved within the window.
    private var moved: Set<Int> = []

    /// - Parameter zones: the whole picture if empty.
    init(_ sensitivity: MotionSensitivity, zones: [MotionZone]) {
        (self.sensitivity, self.zones) = (sensitivity, zones)
    }

    /// When to call `turn`.
    var deadline: Instant? { pending.first.map { $0.at + Self.patience } }

    /// The picture begins, or another one.
    mutating func learn(from now: Instant) { learnsUntil = now + Self.learningTime }

    mutating func forget() { (columns, rows, tiles, pending, moved) = (0, 0, [], [], []) }

    /// - Parameters:
    ///   - date: of the instant, in seconds since 1970.
    ///   - waits: whether a change of a small place may wait to become a tick.
    /// - Returns: whether something has moved.
    mutating func take(_ change: TileChange, at now: Instant, date: Double, waits: Bool) -> Bool {
        if (change.columns, change.rows) != (columns, rows) { begin(change, at: now) }
        let places = places(of: change)
        for place in places {
            if place.count > Self.mostTiles || places.count > Self.mostPlaces {
                for tile in place { tiles[tile] = Tile() }
                move(place, at: now)
            } else {
                note(place, at: now, date: date, waits: waits)
            }
        }
        return isMotion(at: now)
    }

    /// - Returns: when something has moved that did not turn out to be a tick; nil for none.
    mutating func turn(at now: Instant) -> Instant? {
        var motion: Instant?
        while let first = pending.first, now >= first.at + Self.patience {
            pending.removeFirst()
            move(first.place, at: first.at)
            if isMotion(at: first.at) { motion = motion ?? first.at }
        }
        return motion
    }

    // MARK: - Small places

    private mutating func note(_ place: [Int], at now: Instant, date: Double, waits: Bool) {
        let ticks = place.map { tick($0, at: now) }
        let isTick = isMinute(date) || ticks.contains(.regular)
        let isWaiting = pending.contains { !Set($0.place).isDisjoint(with: place) }
        let isLong = place.contains { self.isLong(tiles[$0].burst) }
        let learns = now < learnsUntil || place.contains { tiles[$0].learnsUntil.map { now < $0 } ?? false }
        if isTick || learns && !isLong {
            pending.removeAll { !Set($0.place).isDisjoint(with: place) }
        } else if !isLong, ticks.contains(.late) {
            return
        } else if !waits || isLong || !isWaiting && pending.count >= Self.mostPlaces {
            move(place, at: now)
        } else if !isWaiting {
            pending.append((place, now))
        }
    }

    private func isMinute(_ date: Double) -> Bool {
        let second = date - (date / 60).rounded() * 60
        return Self.minuteTick ~= second
    }

    private func isLong(_ burst: (begin: Instant, end: Instant)?) -> Bool {
        burst.map { $0.end - $0.begin >= Self.burstTime } ?? false
    }

    /// Notes a change of a tile.
    private mutating func tick(_ index: Int, at now: Instant) -> Tick {
        var tile = tiles[index]
        defer { tiles[index] = tile }
        guard let burst = tile.burst else {
            tile.burst = (now, now)
            tile.learnsUntil = now < learnsUntil ? now + Self.learningTime * 2 : nil
            return .none
        }
        if now - burst.end < Self.burstGap {
            tile.burst = (burst.begin, now)
            return tile.isKnown && !isLong(tile.burst) ? (tile.misses == 0 ? .regular : .late) : .none
        }
        let gap = now - burst.begin
        tile.burst = (now, now)
        if tile.isKnown {
            // A busy machine shows a tick late, and the next one early, but never more of them than have been due.
            let period = (tile.gaps.0 + tile.gaps.1) / 2
            tile.due = min(tile.due + gap, period * 2)
            let isDue = tile.due >= period * 0.9
            if isDue { tile.due -= period }
            let fits = tile.fits(gap, within: max(.milliseconds(150), gap * 0.3))
            tile.misses = fits ? 0 : tile.misses + (isDue ? 1 : 2)
            if tile.misses < Self.mostMisses { return fits ? .regular : isDue ? .late : .none }
        }
        let learns = tile.learnsUntil.map { now < $0 } ?? false
        tile.learn(gap, fits: tile.fits(gap, within: max(.milliseconds(80), gap * (learns ? 0.2 : 0.1))))
        return tile.isKnown ? .regular : .none
    }

    // MARK: - Motion

    private mutating func move(_ place: [Int], at instant: Instant) {
        for tile in place where isInZone[tile] {
            tiles[tile].movedAt = instant
            moved.insert(tile)
        }
    }

    private mutating func isMotion(at now: Instant) -> Bool {
        moved = moved.filter { tiles[$0].movedAt.map { now - $0 < Self.window } ?? false }
        return !moved.isEmpty && Double(moved.count) >= sensitivity.share * Double(zoneTiles)
    }

    // MARK: - The picture

    private mutating func begin(_ change: TileChange, at now: Instant) {
        if columns > 0 { learn(from: now) }
        (columns, rows) = (change.columns, change.rows)
        tiles = [Tile](repeating: Tile(), count: columns * rows)
        (pending, moved) = ([], [])
        isInZone = (0..<columns * rows).map { index in
            zones.isEmpty || zones.contains { $0.contains(column: index % columns, row: index / columns) }
        }
        zoneTiles = isInZone.count { $0 }
    }

    /// The changed tiles, those together that touch each other, also at a corner.
    private func places(of change: TileChange) -> [[Int]] {
        var places: [[Int]] = []
        var rest = (0..<columns * rows).map { change[$0 % columns, $0 / columns] }
        for first in rest.indices where rest[first] {
            rest[first] = false
            var place = [first]
            var next = 0
            while next < place.count {
                let (row, column) = place[next].quotientAndRemainder(dividingBy: columns)
                next += 1
                for row in max(0, row - 1)...min(rows - 1, row + 1) {
                    for column in max(0, column - 1)...min(columns - 1, column + 1) {
                        let index = row * columns + column
                        if rest[index] { place.append(index) }
                        rest[index] = false
                    }
                }
            }
            places.append(place)
        }
        return places
    }
}
