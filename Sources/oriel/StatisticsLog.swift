import Calls
import Glibc
import Posix
import Sender

/// The file of `--stats`: one JSON object a line, about one line a second.
final class StatisticsLog {
    private struct Line: Encodable {
        /// Since the sender began.
        let timeS: Double
        let fps: Double
        let bitrateBps: Double
        let framesEncoded: Int
        let framesDropped: Int
        let keyframes: Int
        let ticksSkipped: Int
        let quantizer: Int
        let latencyMs: Double
        let packetsSent: UInt64
        let bytesSent: UInt64
        let packetsFailed: UInt64
        let keyframeRequests: UInt64
        let receiverListening: Bool
        let lossRatio: Double?
        let jitterMs: Double?
        let rttMs: Double?
    }

    private let file: FileDescriptor
    private let start = MonotonicClock.now()
    private var lastTime: UInt64
    private var last = SenderStatistics()

    init(path: String) throws {
        do { file = try OutputFile.open(path, O_APPEND) } catch { throw OutputFile.failure(path, error.reason) }
        lastTime = start
    }

    /// Appends a line. A full disk loses the line and nothing else.
    func append(_ sender: SenderStatistics, _ call: PlainRTPStatistics) {
        let now = MonotonicClock.now()
        let seconds = max(milliseconds(from: lastTime, to: now) / 1000, 0.001)
        let line = Line(
            timeS: milliseconds(from: start, to: now) / 1000,
            fps: rate(sender.framesEncoded - last.framesEncoded, seconds),
            bitrateBps: rate((sender.encodedBytes - last.encodedBytes) * 8, seconds),
            framesEncoded: sender.framesEncoded,
            framesDropped: sender.framesDropped,
            keyframes: sender.keyframes,
            ticksSkipped: sender.ticksSkipped,
            quantizer: sender.quantizer,
            latencyMs: milliseconds(from: 0, to: sender.latency),
            packetsSent: call.packets,
            bytesSent: call.bytes,
            packetsFailed: call.packetsFailed,
            keyframeRequests: call.keyframeRequests,
            receiverListening: call.receiverListening,
            lossRatio: call.report?.lossFraction,
            jitterMs: call.report.map { milliseconds(from: 0, to: $0.jitter) },
            rttMs: call.report?.roundTripTime.map { milliseconds(from: 0, to: $0) }
        )
        (last, lastTime) = (sender, now)
        guard let text = try? json(line) else { return }
        try? file.write(text + "\n")
    }

    private func rate(_ count: Int, _ seconds: Double) -> Double { (Double(count) / seconds * 10).rounded() / 10 }
}
