import Calls
import Posix
import RTP
import Sender

/// Statistics of a sender. Times are processor time.
final class StatisticsLog {
    private struct Line: Encodable {
        /// Since the sender began.
        let timeS: Double
        let fps: Double
        let bitrateBps: Double
        let framesEncoded: Int
        let framesDropped: Int
        let keyframes: Int
        let keyframesRepeated: Int
        let ticksSkipped: Int
        let quantizer: Int
        let latencyMs: Double
        /// Since the sender began.
        let scaleMs: Double
        let encodeMs: Double
        let sendMs: Double
        let bytesScaled: UInt64
        let bytesEncoded: Int
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

    private let file: StatisticsFile
    private var last = SenderStatistics()

    init(path: String) throws { file = try StatisticsFile(path: path) }

    /// Appends a line about a plain RTP call.
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
        file.append { time, seconds in
            var line = Line(
                timeS: time,
                fps: rate(sender.framesEncoded - last.framesEncoded, seconds),
                bitrateBps: rate((sender.encodedBytes - last.encodedBytes) * 8, seconds),
                framesEncoded: sender.framesEncoded,
                framesDropped: sender.framesDropped,
                keyframes: sender.keyframes,
                keyframesRepeated: sender.keyframesRepeated,
                ticksSkipped: sender.ticksSkipped,
                quantizer: sender.quantizer,
                latencyMs: milliseconds(from: 0, to: sender.latency),
                scaleMs: milliseconds(from: 0, to: sender.scaleTime),
                encodeMs: milliseconds(from: 0, to: sender.encodeTime),
                sendMs: milliseconds(from: 0, to: sender.sendTime),
                bytesScaled: sender.bytesScaled,
                bytesEncoded: sender.encodedBytes
            )
            fill(&line)
            return line
        }
        last = sender
    }

    private func rate(_ count: Int, _ seconds: Double) -> Double { (Double(count) / seconds * 10).rounded() / 10 }
}
