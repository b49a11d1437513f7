import Calls
import Peers
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
        /// Of all calls.
        var packetsSent: UInt64 = 0
        var bytesSent: UInt64 = 0
        var keyframeRequests: UInt64 = 0
        /// Of plain RTP calls; of the first, where they cannot be added.
        var packetsFailed: UInt64?
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

    /// Appends a line about the sender and its calls.
    func append(_ sender: SenderStatistics, _ plain: [PlainRTPStatistics], _ peers: PeerGroup?) {
        append(sender) { line in
            for call in plain {
                line.packetsSent += call.packets
                line.bytesSent += call.bytes
                line.keyframeRequests += call.keyframeRequests
                line.packetsFailed = (line.packetsFailed ?? 0) + call.packetsFailed
            }
            if let first = plain.first {
                line.receiverListening = first.receiverListening
                line.lossRatio = first.lossFraction
                line.jitterMs = first.jitter.map { milliseconds($0) }
                line.rttMs = first.roundTripTime.map { milliseconds($0) }
            }
            if let peers {
                let totals = peers.totals
                line.packetsSent += totals.packets
                line.bytesSent += totals.bytes
                line.keyframeRequests += totals.keyframeRequests
                line.packetsRepeated = totals.retransmissions
                line.viewers = peers.statuses.count
            }
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
                latencyMs: milliseconds(sender.latency),
                scaleMs: milliseconds(sender.scaleTime),
                encodeMs: milliseconds(sender.encodeTime),
                sendMs: milliseconds(sender.sendTime),
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
