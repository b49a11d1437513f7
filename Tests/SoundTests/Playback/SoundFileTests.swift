import Glibc
import Posix
import TestSupport
import Testing

@testable import FrameBridge
@testable import Sound

@Suite struct SoundFileTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    /// A file as ffmpeg encodes it.
    private func encode(_ clip: SoundClip, as name: String) throws -> String {
        let (raw, path) = (folder.file("raw"), folder.file(name))
        unlink(raw)
        try FileDescriptor.open(raw, O_WRONLY | O_CREAT).write(clip.bytes, at: 0)
        let input = ["-f", "s16le", "-ar", "\(clip.rate)", "-ac", "\(clip.channels)", "-i", raw]
        // An .oga of ffmpeg is FLAC otherwise.
        let codec = name.contains(".og") ? ["-c:a", "libvorbis"] : []
        try Subprocess.run(["ffmpeg", "-v", "error", "-y"] + input + codec + [path])
        return path
    }

    @Test(arguments: [
        ("a.wav", 48_000, 1), ("b.wav", 44_100, 2), ("c.flac", 96_000, 2), ("d.oga", 48_000, 1), ("e.ogg", 22_050, 2),
        ("f.wav", 8000, 1),
    ]) func eachFormatIsOneChannelAt48kHz(name: String, rate: Int, channels: Int) throws {
        let clip = SoundClip.tone(1000, lasting: 1.5, rate: rate, channels: channels)
        let samples = try SoundFile.samples(of: try encode(clip, as: name)).map { Float($0) / 32768 }
        #expect(abs(samples.count - 72_000) < 500, "\(samples.count)")
        let middle = Array(samples[24_000..<48_000])
        #expect(abs(SoundAnalysis.level(of: 1000, in: middle) + 12.04) < 0.7)
        #expect(SoundAnalysis.level(of: 2000, in: middle) < -45)
    }

    @Test func aLongSoundIsCut() throws {
        let path = try encode(.tone(500, lasting: 12), as: "long.flac")
        #expect(try SoundFile.samples(of: path).count == 480_000)
    }

    /// A pipe does not hold it up.
    @Test func whatIsNoSoundIsRefused() throws {
        let (text, pipe) = (folder.file("text.wav"), folder.file("pipe.wav"))
        try FileDescriptor.open(text, O_WRONLY | O_CREAT).write("RIFF no sound at all")
        mkfifo(pipe, 0o600)
        let empty = folder.file("empty.wav")
        try FileDescriptor.open(empty, O_WRONLY | O_CREAT).write("")
        for path in [text, pipe, empty, folder.path, folder.file("missing.wav"), "/dev/zero", ""] {
            #expect(throws: SoundFileError.self) { try SoundFile.samples(of: path) }
        }
    }

    /// Any bytes are a sound or none.
    @Test(arguments: ["x.wav", "x.flac", "x.oga"]) func damagedFilesAreSurvived(name: String) throws {
        let path = try encode(.tone(700, lasting: 0.2, rate: 44_100, channels: 2), as: name)
        let whole = try FileDescriptor.open(path, O_RDONLY).readBytes(1 << 20)
        var random = SplitMix(seed: 12)
        for _ in 0..<300 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                // Headers stand at the beginning.
                let end = Bool.random(using: &random) ? min(200, bytes.count) : bytes.count
                bytes[Int.random(in: 0..<end, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            if Bool.random(using: &random) { bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random)) }
            let damaged = folder.file("damaged-\(name)")
            unlink(damaged)
            try FileDescriptor.open(damaged, O_WRONLY | O_CREAT).write(bytes, at: 0)
            if let samples = try? SoundFile.samples(of: damaged) { #expect(samples.count <= 48_000 * 10 * 12 + 1) }
        }
    }
}
