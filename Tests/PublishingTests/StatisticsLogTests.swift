import Control
import Glibc
import JSON
import Posix
import TestSupport
import Testing

@testable import Calls
@testable import Publishing
@testable import Sender

/// What programs read of `--stats`, to the letter.
@Suite struct StatisticsLogTests {
    /// The keys of the last line of `--stats`.
    private func statistics(
        _ sender: SenderStatistics = SenderStatistics(),
        _ work: SenderSnapshot.Work = SenderSnapshot.Work(),
        plain: [PlainRTPStatistics] = [],
        network: CallNetwork? = nil
    ) throws -> Set<String> {
        let folder = try TemporaryDirectory()
        let path = folder.file("stats")
        let log = try StatisticsLog(path: path)
        log.append(sender, work, plain, network?.begun)
        let text = try FileDescriptor.open(path, O_RDONLY).readBytes(1 << 16)
        return Set(JSONText(text)?.members?.map(\.name) ?? [])
    }

    @Test func statisticsHaveFiguresOfWhatIsThere() throws {
        let always: Set = [
            "time_s", "fps", "bitrate_bps", "frames_encoded", "frames_dropped", "keyframes", "keyframes_repeated",
            "ticks_skipped", "quantizer", "latency_ms", "scale_ms", "encode_ms", "send_ms", "bytes_scaled",
            "bytes_encoded", "packets_sent", "bytes_sent", "keyframe_requests",
        ]
        #expect(try statistics() == always)
        var plain = PlainRTPStatistics()
        #expect(try statistics(plain: [plain]) == always.union(["packets_failed", "receiver_listening"]))
        (plain.lossFraction, plain.jitter, plain.roundTripTime) = (0.5, .seconds(1), .seconds(1))
        let reported = always.union(["packets_failed", "receiver_listening", "loss_ratio", "jitter_ms", "rtt_ms"])
        #expect(try statistics(plain: [plain]) == reported)
        var sender = SenderStatistics()
        sender.sound = SoundStatistics()
        var work = SenderWork()
        for second in 1...2 { work.note(sender, isThin: false, at: .seconds(Double(second))) }
        let sound: Set = [
            "sound_bitrate_bps", "sound_target_bps", "sound_channels", "sound_packets", "sound_bytes",
            "sound_blocks_lost", "sound_encode_ms",
        ]
        #expect(try statistics(sender, work.latest) == always.union(sound).union(["limit"]))
    }

    /// Of viewers, too, once there may be some.
    @Test func statisticsCountViewers() throws {
        let scene = try CallScene()
        defer { scene.calls.close() }
        let before = try statistics(network: scene.network)
        _ = try scene.network.peers()
        let after = try statistics(network: scene.network)
        // And `target_bps` once an encoder has begun.
        #expect(after.subtracting(before).subtracting(["target_bps"]) == ["packets_repeated", "viewers", "renditions"])
    }
}
