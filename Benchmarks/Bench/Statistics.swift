import Posix
import Time

extension [Double] {
    /// nil when empty.
    var median: Double? { percentile(50) }

    /// The value at a rank, from 0 to 100, between the sorted values; nil when empty.
    func percentile(_ rank: Double) -> Double? {
        guard !isEmpty else { return nil }
        let sorted = sorted()
        let position = rank / 100 * Double(count - 1)
        let lower = Int(position)
        let upper = Swift.min(lower + 1, count - 1)
        return sorted[lower] + (sorted[upper] - sorted[lower]) * (position - Double(lower))
    }
}

extension Double {
    /// With so many digits after the point.
    func text(_ digits: Int = 1) -> String {
        var scale = 1.0
        for _ in 0..<digits { scale *= 10 }
        let scaled = Int((magnitude * scale).rounded())
        let whole = "\(self < 0 && scaled > 0 ? "-" : "")\(scaled / Int(scale))"
        guard digits > 0 else { return whole }
        return whole + "." + String(String(Int(scale) + scaled % Int(scale)).dropFirst())
    }
}

func secondsSince(_ start: Instant) -> Double { (MonotonicClock.now() - start).seconds }

func sleep(seconds: Double) { MonotonicClock.sleep(for: .seconds(seconds)) }

/// Median milliseconds of each body. They take turns, so that a change of the machine's speed hits all alike.
func interleavedMilliseconds(turns: Int, _ bodies: [() -> Void]) -> [Double] {
    var times = [[Double]](repeating: [], count: bodies.count)
    for turn in 0...turns {
        for (index, body) in bodies.enumerated() {
            let start: Instant = MonotonicClock.now()
            body()
            if turn > 0 { times[index].append(secondsSince(start) * 1000) }  // the first turn warms up
        }
    }
    return times.map { $0.median ?? 0 }
}
