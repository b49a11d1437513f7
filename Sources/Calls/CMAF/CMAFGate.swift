import Containers
import Time

/// Lets the segments of clips of one track through, and those of the time before a clip. Sans-IO.
struct CMAFGate {
    private enum State {
        case closed
        /// A clip ends with the segment that holds the date, in seconds since 1970; nil while it runs.
        case open(until: Double?)
    }

    /// How far back segments are kept, in seconds.
    private let memory: Double
    private var kept: [CMAFSegment] = []
    private var state = State.closed

    init(memory: Duration) { self.memory = memory / .seconds(1) }

    /// Begins a clip.
    ///
    /// - Returns: the segments that have ended and belong to it.
    mutating func begin(at date: Double) -> [CMAFSegment] {
        state = .open(until: nil)
        return exchange(&kept, with: []).filter { $0.end > date }
    }

    /// Ends the clip with the segment that holds the date.
    mutating func end(at date: Double) { if case .open = state { state = .open(until: date) } }

    /// Takes the next segment, and returns it if it belongs to a clip.
    mutating func pass(_ segment: CMAFSegment) -> CMAFSegment? {
        guard case .open(let end) = state, end.map({ segment.date < $0 }) ?? true else {
            state = .closed
            kept.append(segment)
            kept.removeAll { $0.end <= segment.end - memory }
            return nil
        }
        guard let end, segment.end >= end else { return segment }
        state = .closed
        return segment.last
    }

    /// Forgets what is kept. A clip goes on.
    mutating func forget() { kept = [] }
}

extension CMAFSegment {
    /// When its last sample ends, in seconds since 1970.
    fileprivate var end: Double {
        date + Double(samples.reduce(0) { $0 + $1.duration }) / Double(track.timescale)
    }

    fileprivate var last: CMAFSegment {
        CMAFSegment(of: track, number: number, at: time, date: date, samples, mark: .last)
    }
}
