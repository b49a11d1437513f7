import COpus
import Glibc
import Posix
import SoundCoding
import TestSupport
import Testing

/// What the encoder makes, as libopus's decoder and opus-tools find it.
struct OpusEncoderTests {
    /// Tones, and noise that keeps the encoder busy.
    private static func music(lasting seconds: Double, channels: Int) -> SoundClip {
        let tone = SoundClip.sweep(from: 200, to: 9000, lasting: seconds, level: 0.3, channels: channels)
        let noise = SoundClip.noise(lasting: seconds, level: 0.2, channels: channels, seed: 1)
        return SoundClip(samples: zip(tone.samples, noise.samples).map { $0 + $1 }, channels: channels)
    }

    private static func decoded(_ packets: [[UInt8]?], channels: Int) -> SoundClip {
        let decoder = LibopusDecoder(channels: channels)
        return SoundClip(samples: packets.flatMap { decoder.decode($0) }, channels: channels)
    }

    // MARK: - Packets

    /// RFC 7587 §4.2: one packet of Opus in each payload; here of one frame of 20 ms.
    @Test(arguments: 1...2) func aPacketIsAFrameOf20Milliseconds(channels: Int) throws {
        var encoder = try OpusEncoder(channels: channels)
        for packet in try encoder.packets(of: Self.music(lasting: 2, channels: channels)) {
            #expect(1...OpusEncoder.maximumPacketSize ~= packet.count)
            #expect(opus_packet_get_nb_samples(packet, Int32(packet.count), 48_000) == 960)
            #expect(opus_packet_get_nb_frames(packet, Int32(packet.count)) == 1)
            #expect(opus_packet_get_nb_channels(packet) == channels)
            #expect(opus_packet_get_bandwidth(packet) == OPUS_BANDWIDTH_FULLBAND)
        }
    }

    @Test(arguments: 1...2) func theBitrateIsFollowed(channels: Int) throws {
        let range = OpusEncoder.bitrates(channels: channels)
        var encoder = try OpusEncoder(channels: channels)
        #expect(range.contains(encoder.bitrate) && encoder.bitrate == OpusEncoder.usualBitrate(channels: channels))
        let clip = Self.music(lasting: 3, channels: channels)
        var random = SplitMix(seed: 5)
        let some = (0..<6).map { _ in Int.random(in: range, using: &random) }
        for bitrate in [range.lowerBound, range.upperBound, 0, .max] + some {
            try encoder.setBitrate(bitrate)
            #expect(encoder.bitrate == min(max(bitrate, range.lowerBound), range.upperBound))
            let packets = try encoder.packets(of: clip)
            let sent = Double(packets.reduce(0) { $0 + $1.count } * 8) / clip.duration
            #expect(abs(sent / Double(encoder.bitrate) - 1) < 0.12, "\(encoder.bitrate): \(sent)")
            // No packet is much larger than others, as it would take longer.
            #expect(packets.map(\.count).max()! * 400 < 3 * encoder.bitrate)
        }
    }

    /// What loss asks for changes neither how two channels are encoded, which would take four times as long, nor that a voice is
    /// repeated.
    @Test(arguments: 1...2) func lossKeepsTheMode(channels: Int) throws {
        var encoder = try OpusEncoder(channels: channels)
        let clip = Self.music(lasting: 0.5, channels: channels)
        let range = OpusEncoder.bitrates(channels: channels)
        for loss in [0, 0.03, 0.1, 0.5, 1, 7, -1] {
            for bitrate in [range.lowerBound, OpusEncoder.usualBitrate(channels: channels), range.upperBound] {
                try encoder.setExpectedLoss(loss)
                try encoder.setBitrate(bitrate)
                // RFC 6716 §3.1: 16 and more are CELT alone.
                let configurations = Set(try encoder.packets(of: clip).dropFirst(3).map { $0[0] >> 3 })
                #expect(configurations.allSatisfy { ($0 >= 16) == (channels == 2) }, "\(loss), \(bitrate)")
            }
        }
    }

    // MARK: - Sound

    @Test(arguments: 1...2) func whatIsDecodedIsWhatWasHeard(channels: Int) throws {
        let sweep = SoundClip.sweep(from: 100, to: 5000, lasting: 1, channels: channels)
        let clip = sweep + .silence(lasting: 0.1, channels: channels)
        var encoder = try OpusEncoder(channels: channels)
        let decoded = Self.decoded(try encoder.packets(of: clip), channels: channels)
        #expect(decoded.duration == clip.duration)
        for channel in 0..<channels {
            let (original, found) = (sweep.channel(channel), decoded.channel(channel))
            let place = try #require(SoundAnalysis.find(original, in: found))
            // The encoder looks 6.5 ms ahead.
            #expect(abs(place.delay - 312) <= 3)
            #expect(place.correlation > (channels == 2 ? 0.99 : 0.95))
        }
    }

    @Test func channelsStayApart() throws {
        let clip = SoundClip.stereo(.tone(440, lasting: 1), .tone(1250, lasting: 1))
        var encoder = try OpusEncoder(channels: 2)
        let decoded = Self.decoded(try encoder.packets(of: clip), channels: 2).part(0.2..<0.9)
        for (channel, own, other) in [(0, 440, 1250), (1, 1250, 440)] as [(Int, Double, Double)] {
            #expect(abs(SoundAnalysis.level(of: own, in: decoded.channel(channel)) + 12) < 1)
            #expect(SoundAnalysis.level(of: other, in: decoded.channel(channel)) < -50)
        }
    }

    @Test(arguments: 1...2) func silenceTakesNextToNothing(channels: Int) throws {
        var encoder = try OpusEncoder(channels: channels)
        let clip = Self.music(lasting: 1, channels: channels) + .silence(lasting: 4, channels: channels)
        let packets = try encoder.packets(of: clip + Self.music(lasting: 1, channels: channels))
        // A quarter of a second is encoded as before.
        let silent = packets[64..<250]
        // Now and then a packet of a voice tells how silence sounds.
        #expect(silent.count { $0.count > 3 } <= (channels == 1 ? silent.count / 20 : 0))
        #expect(packets[254..<300].allSatisfy { $0.count > 30 })
        let decoded = Self.decoded(packets, channels: channels)
        #expect(SoundAnalysis.level(in: decoded.part(1.5..<4.9).channel()) < -60)
        #expect(SoundAnalysis.level(in: decoded.part(5.2..<6).channel()) > -20)
    }

    // MARK: - Loss

    /// Lost packets of a voice are in those after them, before anybody has told of a loss.
    @Test(arguments: [24_000, 32_000, 40_000, 64_000]) func aVoiceIsRepeated(bitrate: Int) throws {
        let text = "Nobody shall miss a word of what is said here, not even where the network does."
        let words = try SoundClip.words(text)
        var encoder = try OpusEncoder(channels: 1)
        try encoder.setBitrate(bitrate)
        let packets = try encoder.packets(of: words)
        let whole = Self.decoded(packets, channels: 1).channel()
        var (repeated, concealed): ([Float], [Float]) = ([], [])
        var original: [Float] = []
        let (one, other) = (LibopusDecoder(channels: 1), LibopusDecoder(channels: 1))
        for (index, packet) in packets.dropLast().enumerated() {
            let range = index * 960..<(index + 1) * 960
            guard index % 10 == 9 else {
                _ = (one.decode(packet), other.decode(packet))
                continue
            }
            repeated += SoundClip(samples: one.repetition(in: packets[index + 1])).channel()
            concealed += SoundClip(samples: other.decode(nil)).channel()
            original += whole[range]
        }
        let gain =
            SoundAnalysis.signalToNoise(of: original, in: repeated)
            - SoundAnalysis.signalToNoise(of: original, in: concealed)
        #expect(gain > 3)
    }

    /// Of two channels a lost packet is concealed, and the next ones do not suffer for long.
    @Test func aLostPacketOfMusicLeavesNoGap() throws {
        let clip = SoundClip.stereo(.tone(440, lasting: 2), .tone(660, lasting: 2))
        var encoder = try OpusEncoder(channels: 2)
        try encoder.setExpectedLoss(0.03)
        var packets: [[UInt8]?] = try encoder.packets(of: clip)
        for index in stride(from: 20, to: packets.count, by: 30) { packets[index] = nil }
        let decoded = Self.decoded(packets, channels: 2)
        for (channel, frequency) in [(0, 440.0), (1, 660)] {
            for index in 15..<packets.count - 1 {
                let part = decoded.part(Double(index) * 0.02..<Double(index + 1) * 0.02).channel(channel)
                let level = SoundAnalysis.level(of: frequency, in: part)
                #expect(abs(level + 12) < 3, "packet \(index) of channel \(channel): \(level) dB")
            }
        }
    }

    // MARK: - Other programs

    @Test(arguments: 1...2) func opusToolsDecodeTheSame(channels: Int) throws {
        let clip = Self.music(lasting: 2, channels: channels)
        var encoder = try OpusEncoder(channels: channels)
        let packets = try encoder.packets(of: clip)
        let folder = try TemporaryDirectory()
        let (file, raw) = (folder.file("sound.opus"), folder.file("sound.raw"))
        let written = OggOpus(channels: channels, preSkip: 312, packets: packets)
        try FileDescriptor.open(file, O_WRONLY | O_CREAT).write(written.file, at: 0)
        let told = try Subprocess.run(["opusinfo", file])
        #expect(!told.contains("WARNING"), "\(told)")
        #expect(told.contains("Page count: \(packets.count + 2)") || told.contains("Packet duration"), "\(told)")
        try Subprocess.run(["opusdec", "--quiet", "--rate", "48000", "--no-dither", "--force-stereo", file, raw])
        let decoded = SoundClip(reading: raw, channels: 2)
        let own = Self.decoded(packets, channels: channels)
        for channel in 0..<channels {
            let expected = Array(own.channel(channel).dropFirst(312))
            #expect(SoundAnalysis.signalToNoise(of: expected, in: decoded.channel(channel)) > 40)
        }
    }
}
