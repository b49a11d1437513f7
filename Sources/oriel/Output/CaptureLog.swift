import Capture
import Control
import Publishing

extension StatisticsFile {
    /// Appends a line about a capture process. All figures count from its beginning; times are processor time.
    func append(_ statistics: CaptureStatistics) {
        append { _ in
            [
                "looks": statistics.looks,
                "frames_published": statistics.framesPublished,
                "damage_missed": statistics.misses,
                "grab_ms": milliseconds(statistics.grabTime),
                "compare_ms": milliseconds(statistics.compareTime),
                "convert_ms": milliseconds(statistics.convertTime),
                "bytes_grabbed": statistics.bytesGrabbed,
                "bytes_converted": statistics.bytesConverted,
            ]
        }
    }
}
