import TestSupport
import Time

/// One direction of a network path, in virtual time: a queue before a link of some rate, then a delay.
struct VirtualLink {
    struct Conditions {
        /// Bits a second.
        var rate: Double
        /// How long a packet may wait for the link; those that would wait longer are dropped.
        var queue = Duration.milliseconds(300)
        /// The most packets that wait for the link; nil for any number.
        var mostPackets: Int?
        /// From the link's end to the receiver.
        var delay = Duration.milliseconds(20)
        /// The most that is added to the delay, evenly distributed. Packets overtake each other only if `reorders`.
        var jitter = Duration.zero
        var reorders = false
        var loss = Loss.none
        /// The share of packets that arrive twice.
        var duplication = 0.0
        var pause: Pause?
    }

    /// A radio link that pauses once in each second: all that the link has carried meanwhile arrives at once when the pause ends.
    struct Pause {
        var length: Duration

        /// When a packet arrives that would arrive at an instant.
        func end(_ arrival: Instant) -> Instant {
            let second = (arrival - .start).seconds.rounded(.down)
            var random = SplitMix(seed: UInt64(second))
            let begin =
                Instant.start + .seconds(second) + (.seconds(1) - length) * Double.random(in: 0..<1, using: &random)
            return arrival > begin ? max(arrival, begin + length) : arrival
        }
    }

    enum Loss {
        case none
        /// Each packet, with this probability.
        case random(Double)
        /// All packets while the link is bad: the mean numbers of packets that it is good, and bad (Gilbert and Elliott).
        case bursts(good: Double, bad: Double)
    }

    var conditions: Conditions
    private var random: SplitMix
    private var freeAt = Instant.start
    private var lastArrival = Instant.start
    private var isBad = false
    /// When the packets that wait will have left.
    private var departures: [Instant] = []

    init(_ conditions: Conditions, seed: UInt64) {
        self.conditions = conditions
        random = SplitMix(seed: seed)
    }

    /// How long a packet that came now would wait.
    func waiting(at now: Instant) -> Duration { max(.zero, freeAt - now) }

    /// Sends a packet. Returns when it arrives: never, once or twice.
    mutating func send(_ size: Int, at now: Instant) -> [Instant] {
        guard waiting(at: now) <= conditions.queue else { return [] }
        if let most = conditions.mostPackets {
            departures.removeAll { $0 <= now }
            guard departures.count < most else { return [] }
        }
        freeAt = max(freeAt, now) + .seconds(Double(size) * 8 / conditions.rate)
        if conditions.mostPackets != nil { departures.append(freeAt) }
        if isLost() { return [] }
        var arrival = freeAt + conditions.delay + conditions.jitter * Double.random(in: 0...1, using: &random)
        if !conditions.reorders { arrival = max(arrival, lastArrival) }
        if let pause = conditions.pause { arrival = pause.end(arrival) }
        lastArrival = max(arrival, lastArrival)
        let isDoubled = conditions.duplication > 0 && Double.random(in: 0..<1, using: &random) < conditions.duplication
        return isDoubled ? [arrival, arrival + .milliseconds(1)] : [arrival]
    }

    private mutating func isLost() -> Bool {
        switch conditions.loss {
        case .none: return false
        case .random(let share): return Double.random(in: 0..<1, using: &random) < share
        case .bursts(let good, let bad):
            if Double.random(in: 0..<1, using: &random) < 1 / (isBad ? bad : good) { isBad.toggle() }
            return isBad
        }
    }
}
