import Calls
import Glibc
import Posix
import RTP
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
        /// Of a plain RTP call.
        var packetsSent: UInt64?
        var bytesSent: UInt64?
        var packetsFailed: UInt64?
        var keyframeRequests: UInt64?
        var receiverListening: Bool?
        var lossRatio: Double?
        var jitterMs: Double?
        var rttMs: Double?
        /// Of a web call.
        var packetsRepeated: UInt64?
        var viewers: Int?
    }

    private let file: FileDescriptor
    private let start = MonotonicClock.now()
    private var lastTime: UInt64
    private var last = SenderStatistics()

    init(path: String) throws {
        do { file = try OutputFile.open(path, O_APPEND) } catch { throw OutputFile.failure(path, error.reason) }
        lastTime = start
    }

    /// Appends a line about a plain RTP call. A full disk loses the line and nothing else.
    func append(_ sender: SenderStatistics, _ call: PlainRTPStatistics) {
        append(sender) { line in
            line.packetsSent = call.packets
            line.bytesSent = call.bytes
            line.packetsFailed = call.packetsFailed
            line.keyframeRequests = call.keyframeRequests
            line.receiverListening = call.receiverListening
            line.lossRatio = call.report?.lossFraction
            line.jitterMs = call.report.map { milliseconds(from: 0, to: $0.jitter) }
            line.rttMs = call.report?.roundTripTime.map { milliseconds(from: 0, to: $0) }
        }
    }

    /// Appends a line about a web call.
    func append(_ sender: SenderStatistics, _ call: WebCallTotals, viewers: Int) {
        append(sender) { line in
            line.packetsSent = call.packets
            line.bytesSent = call.bytes
            line.packetsRepeated = call.retransmissions
            line.keyframeRequests = call.keyframeRequests
            line.viewers = viewers
        }
    }

    private func append(_ sender: SenderStatistics, _ fill: (inout Line) -> Void) {
        let now = MonotonicClock.now()
        let seconds = max(milliseconds(from: lastTime, to: now) / 1000, 0.001)
        var line = Line(
            timeS: milliseconds(from: start, to: now) / 1000,
            fps: rate(sender.framesEncoded - last.framesEncoded, seconds),
            bitrateBps: rate((sender.encodedBytes - last.encodedBytes) * 8, seconds),
            framesEncoded: sender.framesEncoded,
            framesDropped: sender.framesDropped,
            keyframes: sender.keyframes,
            ticksSkipped: sender.ticksSkipped,
            quantizer: sender.quantizer,
            latencyMs: milliseconds(from: 0, to: sender.latency)
        )
        fill(&line)
        (last, lastTime) = (sender, now)
        guard let text = try? json(line) else { return }
        try? file.write(text + "\n")
    }

    private func rate(_ count: Int, _ seconds: Double) -> Double { (Double(count) / seconds * 10).rounded() / 10 }
}
