import CSampleRate

/// Makes sound a little longer or shorter, by a ratio that changes on the way (libsamplerate).
final class Resampler {
    /// Samples by which the output is later than the input, as it looks ahead.
    static let delay = 20
    /// Samples that it needs before the first one, so that the first one comes out as in the middle of the sound.
    static let history = 64
    /// The most input samples at once.
    private static let most = 4800

    private let channels: Int
    private let state: OpaquePointer
    /// Samples of the history, which are not output.
    private var toSkip = history
    private let input: UnsafeMutableBufferPointer<Float>
    private let output: UnsafeMutableBufferPointer<Float>

    /// - Parameter history: the last 64 samples before, in each channel.
    init(channels: Int, after history: [Int16]) {
        var error: Int32 = 0
        guard let state = src_new(Int32(SRC_SINC_FASTEST), Int32(channels), &error) else {
            preconditionFailure("src_new: \(String(cString: src_strerror(error)))")
        }
        self.state = state
        self.channels = channels
        input = .allocate(capacity: Self.most * channels)
        output = .allocate(capacity: Self.most * 2 * channels)
        output.initialize(repeating: 0)
        input.initialize(repeating: 0)
        src_set_ratio(state, 1)
        var nothing: [Int16] = []
        history.withUnsafeBufferPointer { resample($0, by: 1, into: &nothing) }
    }

    deinit {
        src_delete(state)
        input.deallocate()
        output.deallocate()
    }

    /// Appends the output to `queue`.
    ///
    /// - Parameters:
    ///   - samples: of all channels, interleaved.
    ///   - ratio: the count of samples that each becomes at the end. It changes evenly from that of the call before.
    func resample(_ samples: UnsafeBufferPointer<Int16>, by ratio: Double, into queue: inout [Int16]) {
        var rest = samples[...]
        while !rest.isEmpty {
            let part = UnsafeBufferPointer(rebasing: rest.prefix(Self.most * channels))
            rest = rest.dropFirst(part.count)
            src_short_to_float_array(part.baseAddress, input.baseAddress, Int32(part.count))
            var work = SRC_DATA()
            work.data_in = UnsafePointer(input.baseAddress)
            work.data_out = output.baseAddress
            work.input_frames = part.count / channels
            work.output_frames = output.count / channels
            work.src_ratio = ratio
            src_process(state, &work)
            append(work.output_frames_gen, to: &queue)
        }
    }

    private func append(_ frames: Int, to queue: inout [Int16]) {
        let skipped = min(toSkip, frames)
        toSkip -= skipped
        let count = (frames - skipped) * channels
        guard count > 0 else { return }
        let start = output.baseAddress! + skipped * channels
        queue.reserveCapacity(queue.count + count)
        withUnsafeTemporaryAllocation(of: Int16.self, capacity: count) { shorts in
            src_float_to_short_array(start, shorts.baseAddress, Int32(count))
            queue += shorts
        }
    }
}
