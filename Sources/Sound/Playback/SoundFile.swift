import CSampleRate
import CSndFile
import FrameBridge
import Glibc
import Posix

/// Why a sound file cannot be played.
enum SoundFileError: Error, Equatable, CustomStringConvertible {
    case unreadable(String, reason: String)
    case noSound(String)

    var description: String {
        switch self {
        case .unreadable(let path, let reason): "cannot read \(path) (\(reason)): choose another sound"
        case .noSound(let path): "\(path) is no sound file: choose another one"
        }
    }
}

/// Reads sound files of the formats of libsndfile, such as WAV, FLAC and Ogg Vorbis.
enum SoundFile {
    /// More of a file is left out.
    private static let longestSeconds = 10
    private static let rates: ClosedRange<Int32> = 4000...384_000
    private static let channels: ClosedRange<Int32> = 1...8

    /// - Returns: one channel at 48 kHz.
    static func samples(of path: String) throws(SoundFileError) -> [Int16] {
        let raw = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard raw >= 0 else { throw .unreadable(path, reason: String(cString: strerror(errno))) }
        let file = FileDescriptor(taking: raw)
        // A pipe would never end.
        guard let status = try? file.status(), status.st_mode & S_IFMT == S_IFREG else { throw .noSound(path) }
        var info = SF_INFO()
        guard let sound = sf_open_fd(raw, Int32(SFM_READ), &info, 0) else { throw .noSound(path) }
        defer {
            sf_close(sound)
            withExtendedLifetime(file) {}
        }
        guard rates ~= info.samplerate, channels ~= info.channels, info.frames > 0 else { throw .noSound(path) }
        let most = min(Int(info.frames), longestSeconds * Int(info.samplerate))
        var interleaved = [Float](repeating: 0, count: most * Int(info.channels))
        let count = Int(sf_readf_float(sound, &interleaved, sf_count_t(most)))
        guard count > 0 else { throw .noSound(path) }
        let width = Int(info.channels)
        let mono = (0..<count).map { frame in
            interleaved[frame * width..<(frame + 1) * width].reduce(0, +) / Float(width)
        }
        return try resampled(mono, from: Int(info.samplerate), of: path).map { sample in
            // A damaged file has any numbers.
            sample.isFinite ? Int16(max(-1, min(sample, 1)) * 32767) : 0
        }
    }

    private static func resampled(_ samples: [Float], from rate: Int, of path: String) throws(SoundFileError) -> [Float]
    {
        guard rate != SoundBlock.sampleRate else { return samples }
        let ratio = Double(SoundBlock.sampleRate) / Double(rate)
        var result = [Float](repeating: 0, count: Int((Double(samples.count) * ratio).rounded(.up)) + 1)
        var data = SRC_DATA()
        (data.input_frames, data.output_frames, data.src_ratio) = (samples.count, result.count, ratio)
        let fault = samples.withUnsafeBufferPointer { from in
            result.withUnsafeMutableBufferPointer { to in
                (data.data_in, data.data_out) = (from.baseAddress, to.baseAddress)
                return src_simple(&data, Int32(SRC_SINC_FASTEST), 1)
            }
        }
        guard fault == 0 else { throw .noSound(path) }
        return Array(result.prefix(data.output_frames_gen))
    }
}
