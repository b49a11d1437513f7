import FrameBridge
import Time

/// Maps a device's samples to their capture times by this machine's clock, from the sound server's reports. A report
/// may be wrong by some milliseconds. Sans-IO.
///
/// A device counts samples by its own clock, which is up to some hundred parts in a million too fast or too slow. The
/// line of best fit through the reports of the last two minutes shows how much.
struct DeviceClock {
    /// The most reports for the line, and their greatest age.
    private static let mostReports = 120
    private static let window = 120.0
    /// The greatest distance of a report from the line. Three farther ones in a row show lost samples.
    static let tolerance = Duration.milliseconds(20)
    private static let mostStrays = 3
    /// The first reports may all be wrong: a new stream may make the server hear everything sooner.
    private static let fewReports = 10
    /// Weight against a slope from few reports: the square of the ratio of a report's error (a millisecond) to the
    /// difference of clocks (a ten-thousandth).
    private static let doubt = 100.0

    private struct Report {
        /// In seconds of the device's clock.
        let place: Double
        /// The delay behind a perfect clock, in seconds.
        let lateness: Double
    }

    /// When sample 0 was captured, by the first report and a perfect clock.
    private var origin: Instant?
    private var reports: [Report] = []
    private var strays: [Report] = []
    private var center = 0.0
    private var offset = 0.0
    /// Seconds that this machine's clock gains in a second of the device's clock; positive for a slow device.
    private(set) var slope = 0.0
    /// The slope until enough reports show another.
    private var expectedSlope = 0.0

    /// Whether more reports are needed soon: there are few, or they contradict each other.
    var isInDoubt: Bool { reports.count < Self.fewReports || !strays.isEmpty }

    /// Adds a report.
    ///
    /// - Parameters:
    ///   - sample: counted from any sample of the stream.
    ///   - instant: when it was captured, perhaps in the near future.
    mutating func noteSample(_ sample: Int64, capturedAt instant: Instant) {
        let origin = origin ?? instant.advanced(byNanoseconds: -nanoseconds(of: sample))
        self.origin = origin
        let place = Double(sample) / Double(SoundBlock.sampleRate)
        let report = Report(place: place, lateness: (instant - origin).seconds - place)
        if reports.count >= Self.mostStrays, abs(report.lateness - lateness(at: place)) > Self.tolerance.seconds {
            strays.append(report)
            guard strays.count == Self.mostStrays else { return }
            (reports, expectedSlope) = (strays, slope)
        } else {
            reports.append(report)
        }
        strays = []
        reports.removeAll { $0.place < place - Self.window }
        if reports.count > Self.mostReports { reports.removeFirst() }
        draw()
    }

    /// When a sample was captured; nil before the first report.
    func instant(of sample: Int64) -> Instant? {
        let place = Double(sample) / Double(SoundBlock.sampleRate)
        return origin?.advanced(byNanoseconds: nanoseconds(of: sample) + Int64(lateness(at: place) * 1e9))
    }

    private func lateness(at place: Double) -> Double { offset + slope * (place - center) }

    /// Fits the line again: through all reports, and then through those that are not above it. A server that has not
    /// passed on some samples yet reports the others as later than they were.
    private mutating func draw() {
        fit(reports)
        fit(reports.filter { $0.lateness <= lateness(at: $0.place) })
    }

    private mutating func fit(_ reports: [Report]) {
        guard !reports.isEmpty else { return }
        let count = Double(reports.count)
        center = reports.reduce(0) { $0 + $1.place } / count
        offset = reports.reduce(0) { $0 + $1.lateness } / count
        var (squares, products) = (Self.doubt, Self.doubt * expectedSlope)
        for report in reports {
            squares += (report.place - center) * (report.place - center)
            products += (report.place - center) * (report.lateness - offset)
        }
        slope = products / squares
    }

    private func nanoseconds(of sample: Int64) -> Int64 { sample * 62_500 / 3 }
}
