import FrameBridge

/// The voices of one sender's peers, on their way to the speakers: one channel at 48 kHz. Sans-IO.
struct TalkStream {
    /// The most waiting samples. More is not jitter.
    static let most = SoundBlock.samples * 10
    /// The rest after a cut, and of samples that came while there were no speakers. Earlier ones are too old.
    static let mostAtStart = SoundBlock.samples * 3 / 2
    /// The most samples that come at once while speakers ask for them.
    private static let mostAtOnce = SoundBlock.samples * 3

    private var waiting: [Int16] = []
    private var ready: [Int16] = []
    private var resampler: Resampler?
    private var pace = PlaybackPace()
    private var isPlaying = false
    /// Samples that came since speakers last asked.
    private var unasked = 0
    /// How often there was nothing to play in the middle of speech.
    private(set) var gaps = 0
    private var hadGap = false

    var count: Int { waiting.count + ready.count }
    var ratio: Double { pace.ratio ?? 1 }

    /// Appends a block.
    ///
    /// - Parameter follows: whether it continues the block before.
    mutating func append(_ samples: Span<Int16>, channels: Int, follows: Bool) {
        if follows, hadGap {
            gaps += 1
            pace.noteGap()
        }
        hadGap = false
        if channels == 1 {
            for index in samples.indices { waiting.append(samples[index]) }
        } else {
            for index in 0..<samples.count / 2 {
                waiting.append(Int16((Int32(samples[index * 2]) + Int32(samples[index * 2 + 1])) / 2))
            }
        }
        unasked += samples.count / channels
        if count > Self.most { shorten() }
    }

    private mutating func shorten() { waiting.removeFirst(max(0, min(waiting.count, count - Self.mostAtStart))) }

    /// Adds the next samples to `sums`, as many as there are.
    mutating func play(into sums: inout [Int32]) {
        let wanted = sums.count
        if !isPlaying, unasked > Self.mostAtOnce { shorten() }
        unasked = 0
        while ready.count < wanted, !waiting.isEmpty {
            let count = min(waiting.count, wanted - ready.count)
            if let ratio = pace.ratio {
                let resampler =
                    resampler ?? Resampler(channels: 1, after: [Int16](repeating: 0, count: Resampler.history))
                self.resampler = resampler
                waiting.prefix(count).withUnsafeBufferPointer { resampler.resample($0, by: ratio, into: &ready) }
            } else {
                ready += waiting[..<count]
            }
            waiting.removeFirst(count)
        }
        let played = min(wanted, ready.count)
        for index in 0..<played { sums[index] += Int32(ready[index]) }
        ready.removeFirst(played)
        if played == wanted {
            isPlaying = true
            let rate = Double(SoundBlock.sampleRate)
            pace.note(waiting: Double(count) / rate, after: Double(played) / rate)
        } else {
            // The end of speech, or a gap: the next block shows which.
            hadGap = hadGap || isPlaying
            isPlaying = false
            pace.restart()
        }
    }
}
