import Broadcast
import Time

/// Statistics of a capture process. Times are processor time; all figures since it began.
struct CaptureLog {
    private struct Line: Encodable {
        let timeS: Double
        let looks: Int
        let framesPublished: Int
        let damageMissed: Int
        let grabMs: Double
        let compareMs: Double
        let convertMs: Double
        let bytesGrabbed: UInt64
        let bytesConverted: UInt64
    }

    private let file: StatisticsFile

    init(path: String) throws { file = try StatisticsFile(path: path) }

    func append(_ statistics: CaptureStatistics) {
        file.append { time, _ in
            Line(
                timeS: time,
                looks: statistics.looks,
                framesPublished: statistics.framesPublished,
                damageMissed: statistics.misses,
                grabMs: milliseconds(statistics.grabTime),
                compareMs: milliseconds(statistics.compareTime),
                convertMs: milliseconds(statistics.convertTime),
                bytesGrabbed: statistics.bytesGrabbed,
                bytesConverted: statistics.bytesConverted
            )
        }
    }
}
