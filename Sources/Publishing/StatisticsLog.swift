import Calls
import Control
import Peers
import Posix
import Sender

/// Statistics of a sender, one line a second. Times are processor time, but for the latency.
final class StatisticsLog {
    private let file: StatisticsFile
    private var last = SenderStatistics()

    init(path: String) throws { file = try StatisticsFile(path: path) }

    /// Appends a line about the sender and its calls. `fps` and `bitrate_bps` count from the line before, all other sums from the
    /// sender's beginning.
    func append(
        _ sender: SenderStatistics,
        _ work: SenderSnapshot.Work,
        _ plain: [PlainRTPStatistics],
        _ peers: PeerGroup?
    ) {
        let totals = peers?.totals
        func sum(_ figure: KeyPath<PlainRTPStatistics, UInt64>, _ ofPeers: UInt64?) -> UInt64 {
            plain.reduce(ofPeers ?? 0) { $0 + $1[keyPath: figure] }
        }
        file.append { seconds in
            let frameRate = rate(sender.framesEncoded - last.framesEncoded, seconds)
            let bitrate = rate((sender.encodedBytes - last.encodedBytes) * 8, seconds)
            var line: [String: any Encodable] = [
                "fps": frameRate,
                "bitrate_bps": bitrate,
                "frames_encoded": sender.framesEncoded,
                "frames_dropped": sender.framesDropped,
                "keyframes": sender.keyframes,
                "keyframes_repeated": sender.keyframesRepeated,
                "ticks_skipped": sender.ticksSkipped,
                "quantizer": sender.quantizer,
                "latency_ms": milliseconds(sender.latency),
                "scale_ms": milliseconds(sender.scaleTime),
                "encode_ms": milliseconds(sender.encodeTime),
                "send_ms": milliseconds(sender.sendTime),
                "bytes_scaled": sender.bytesScaled,
                "bytes_encoded": sender.encodedBytes,
                // Sums over all calls.
                "packets_sent": sum(\.packets, totals?.packets),
                "bytes_sent": sum(\.bytes, totals?.bytes),
                "keyframe_requests": sum(\.keyframeRequests, totals?.keyframeRequests),
            ]
            if let first = plain.first {
                line["packets_failed"] = sum(\.packetsFailed, nil)
                // These cannot be added: of several calls over plain RTP, the first one counts.
                line["receiver_listening"] = first.receiverListening
                line["loss_ratio"] = first.lossFraction
                line["jitter_ms"] = first.jitter.map { milliseconds($0) }
                line["rtt_ms"] = first.roundTripTime.map { milliseconds($0) }
            }
            if let sound = sender.sound {
                line["sound_bitrate_bps"] = work.sound?.bitrateBps
                line["sound_target_bps"] = sound.bitrate
                line["sound_channels"] = sound.channels
                line["sound_packets"] = sound.packets
                line["sound_bytes"] = sound.bytes
                line["sound_blocks_lost"] = sound.blocksLost
                line["sound_encode_ms"] = milliseconds(sound.encodeTime)
            }
            line["limit"] = work.limit?.rawValue
            if let peers {
                let viewers = peers.statuses.map(\.snapshot.link)
                line["packets_repeated"] = totals?.retransmissions
                line["viewers"] = viewers.count
                // Of several viewers, the one with the worst link counts.
                line["estimate_bps"] = viewers.compactMap(\.estimateBps).min()
                line["target_bps"] = peers.targetBitrates.values.min()
                line["renditions"] = peers.targetBitrates.count
                line["queue_ms"] = viewers.compactMap(\.queueMs).max()
                line["rtt_ms"] = line["rtt_ms"] ?? viewers.compactMap(\.rttMs).max()
                line["loss_ratio"] = line["loss_ratio"] ?? viewers.compactMap(\.lossRatio).max()
            }
            return line
        }
        last = sender
    }

    private func rate(_ count: Int, _ seconds: Double) -> Double { (Double(count) / seconds * 10).rounded() / 10 }
}
