import COpus
import Glibc
import Posix
import SoundCoding
import TestSupport
import Testing

@Suite struct OpusDecoderTests {
    private static func decode(_ packet: [UInt8], by decoder: inout OpusDecoder) -> [Int16]? {
        var sound: [Int16] = []
        return (try? decoder.decode(packet.span, appendingTo: &sound)).map { sound }
    }

    private static func words() throws -> SoundClip {
        try .words("The quick brown fox jumps over the lazy dog, and sleeps.")
    }

    /// RFC 6716 §3.1, table 2, and §3.2.
    @Test func durations() {
        let frames =
            [480, 960, 1920, 2880, 480, 960, 1920, 2880, 480, 960, 1920, 2880, 480, 960, 480, 960]
            + [120, 240, 480, 960, 120, 240, 480, 960, 120, 240, 480, 960, 120, 240, 480, 960]
        for (config, frame) in frames.enumerated() {
            for stereo in [0, 4] as [UInt8] {
                let first = UInt8(config) << 3 | stereo
                #expect(OpusDecoder.samples(of: [first]) == frame)
                for code in 1...2 as ClosedRange<UInt8> {
                    #expect(OpusDecoder.samples(of: [first | code, 7]) == (frame * 2 <= 5760 ? frame * 2 : nil))
                }
                #expect(OpusDecoder.samples(of: [first | 3]) == nil)
                for count in 0...63 {
                    for bits in [0, 0x40, 0x80, 0xC0] {
                        let samples = count > 0 && frame * count <= 5760 ? frame * count : nil
                        #expect(OpusDecoder.samples(of: [first | 3, UInt8(count | bits), 1]) == samples)
                    }
                }
            }
        }
        #expect(OpusDecoder.samples(of: []) == nil)
    }

    /// Files of opusenc, in all durations and bitrates that a talker may choose, are decoded as opusdec does.
    @Test(
        arguments: [
            ("--bitrate 12 --framesize 60 --speech", 1), ("--bitrate 24 --framesize 20", 1),
            ("--bitrate 32 --framesize 40", 1),
            ("--bitrate 64 --framesize 2.5", 2), ("--bitrate 96 --framesize 5 --music", 2),
            ("--bitrate 160 --framesize 10", 2),
            ("--bitrate 20 --framesize 20 --speech", 2),
        ]
    )
    func packetsOfOpusToolsAreDecodedAsTheirs(options: String, channels: Int) throws {
        let directory = try TemporaryDirectory()
        let (raw, encoded, decoded) = (directory.file("raw"), directory.file("opus"), directory.file("decoded"))
        let voice = try Self.words()
        let clip = channels == 1 ? voice : SoundClip.stereo(voice, .sweep(lasting: voice.duration + 0.1))
        try FileDescriptor.open(raw, O_WRONLY | O_CREAT).write(clip.bytes, at: 0)
        try Subprocess.run(
            ["opusenc", "--quiet", "--raw", "--raw-rate", "48000", "--raw-chan", "\(channels)"]
                + options.split(separator: " ").map(String.init) + [raw, encoded]
        )
        try Subprocess.run(["opusdec", "--quiet", "--no-dither", "--rate", "48000", encoded, decoded])
        let file = try OggOpus(parsing: FileDescriptor.open(encoded, O_RDONLY).readBytes(1 << 24))
        #expect(file.channels == channels)
        var decoder = try OpusDecoder(channels: channels)
        var samples: [Int16] = []
        for packet in file.packets { samples += try #require(Self.decode(packet, by: &decoder)) }
        samples.removeFirst(file.preSkip * channels)
        let theirs = SoundClip(reading: decoded, channels: channels).samples
        #expect(theirs.count >= clip.samples.count - 1)
        let differences = zip(samples, theirs).map { abs(Int($0) - Int($1)) }
        #expect(differences.count >= clip.samples.count - 1)
        #expect(differences.max()! <= 1, "rounded to another side")
    }

    /// A stream of one channel or two comes out in one or two.
    @Test(arguments: 1...2, 1...2)
    func channels(of encoded: Int, into channels: Int) throws {
        let tone = SoundClip.sweep(lasting: 0.5, channels: encoded)
        var encoder = try OpusEncoder(channels: encoded)
        var decoder = try OpusDecoder(channels: channels)
        var samples: [Int16] = []
        for packet in try encoder.packets(of: tone) { samples += try #require(Self.decode(packet, by: &decoder)) }
        let heard = SoundClip(samples: samples, channels: channels)
        #expect(heard.duration == tone.duration)
        for channel in 0..<channels {
            let match = try #require(SoundAnalysis.find(tone.part(0.1..<0.4).channel(), in: heard.channel(channel)))
            #expect(match.correlation > 0.97, "\(match)")
        }
    }

    /// A packet that is lost is recovered from the one behind it, far better than it is made up.
    @Test func copies() throws {
        let clip = try Self.words()
        var encoder = try OpusEncoder(channels: 1)
        try encoder.setExpectedLoss(0.2)
        let packets = try encoder.packets(of: clip)
        func heard(without lost: Set<Int>, recovers: Bool) throws -> [Int16] {
            var decoder = try OpusDecoder(channels: 1)
            var heard: [Int16] = []
            for (index, packet) in packets.enumerated() {
                if !lost.contains(index) {
                    heard += try #require(Self.decode(packet, by: &decoder))
                } else if recovers, let next = packets.dropFirst(index + 1).first {
                    try decoder.recover(960, from: next.span, appendingTo: &heard)
                } else {
                    try decoder.conceal(960, appendingTo: &heard)
                }
            }
            return heard
        }
        let whole = try heard(without: [], recovers: false)
        let lost = Set(stride(from: 20, to: packets.count - 1, by: 5))
        func error(_ samples: [Int16]) -> Double {
            #expect(samples.count == whole.count)
            return zip(samples, whole).reduce(0) { $0 + pow(Double($1.0) - Double($1.1), 2) }
        }
        let recovered = error(try heard(without: lost, recovers: true))
        let concealed = error(try heard(without: lost, recovers: false))
        #expect(recovered < concealed * 0.6, "\(recovered) of \(concealed)")
    }

    /// What is made up fades.
    @Test func nothingIsMadeUpForLong() throws {
        var encoder = try OpusEncoder(channels: 1)
        var decoder = try OpusDecoder(channels: 1)
        for packet in try encoder.packets(of: .tone(300, lasting: 1)) { _ = Self.decode(packet, by: &decoder) }
        var levels: [Int] = []
        for _ in 0..<50 {
            var made: [Int16] = []
            try decoder.conceal(960, appendingTo: &made)
            levels.append(made.map { abs(Int($0)) }.max()!)
        }
        #expect(levels[0] > 300, "\(levels)")
        #expect(levels.last! < 100, "\(levels)")
    }

    /// Packets that are cut off or changed, and random bytes: each is decoded to no more than it may be, or throws; and a whole one after
    /// it is decoded as ever.
    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func malformedPackets(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let channels = Int.random(in: 1...2, using: &random)
        var encoder = try OpusEncoder(channels: channels)
        let packets = try encoder.packets(of: .sweep(lasting: 0.5, channels: channels))
        var decoder = try OpusDecoder(channels: Int.random(in: 1...2, using: &random))
        for _ in 0..<3000 {
            var packet = packets.randomElement(using: &random)!
            switch Int.random(in: 0..<5, using: &random) {
            case 0: packet = Array(packet.prefix(Int.random(in: 0...packet.count, using: &random)))
            case 1:
                packet = (0..<Int.random(in: 0...1500, using: &random)).map { _ in .random(in: 0...255, using: &random)
                }
            case 2: packet[0] = .random(in: 0...255, using: &random)
            case 3:
                for _ in 0..<3 {
                    packet[Int.random(in: packet.indices, using: &random)] = .random(in: 0...255, using: &random)
                }
            default:
                packet += (0..<Int.random(in: 1...4000, using: &random)).map { _ in .random(in: 0...255, using: &random)
                }
            }
            let expected = packet.isEmpty ? -1 : opus_packet_get_nb_samples(packet, Int32(packet.count), 48_000)
            if let samples = Self.decode(packet, by: &decoder) {
                #expect(samples.count == Int(expected) * decoder.channels)
                #expect(1...5760 ~= expected)
            }
            let samples = 120 * Int.random(in: 1...48, using: &random)
            for isCopy in [true, false] {
                var made: [Int16] = []
                if isCopy {
                    try? decoder.recover(samples, from: packet.span, appendingTo: &made)
                } else {
                    try decoder.conceal(samples, appendingTo: &made)
                }
                #expect(made.count == samples * decoder.channels || isCopy && made.isEmpty)
            }
        }
        let whole = Self.decode(packets[5], by: &decoder)
        #expect(whole?.count == 960 * decoder.channels)
    }
}
