import Media

extension SoundSnapshot {
    /// For a person: one line; nil while there is no sound in either direction.
    package var sentence: String? {
        let isPlaying = playback.device != nil
        guard source != .none || isPlaying else { return nil }
        var parts = source == .none ? [] : ["\(source.rawValue) \(state.rawValue)"]
        if isMicrophoneLive { parts.append("the microphone is live") }
        if source.hasMicrophone, isMicrophoneMuted, state != .muted { parts.append("the microphone is muted") }
        if let levelDbfs { parts.append("\(rounded(levelDbfs)) dB") }
        if isPlaying { parts.append("viewers are played") }
        return "sound: " + (parts + problems).joined(separator: ", ")
    }

    /// For a person who asks for more.
    package var lines: [String] {
        var lines = ["sound       \(source.rawValue), \(state.rawValue)\(pid > 0 ? ", process \(pid)" : "")"]
        for problem in problems { lines.append("problem     \(problem)") }
        let microphone = isMicrophoneLive ? "live" : isMicrophoneMuted ? "muted" : "off"
        lines.append("microphone  \(microphone)")
        for stream in streams {
            let drift = stream.driftPpm.map { ", its clock is \(rounded($0)) ppm fast" } ?? ""
            lines.append("hears       \(stream.device)\(drift)\(stream.isResampled ? ", resampled" : "")")
        }
        if let levelDbfs, let peakDbfs {
            lines.append("level       \(rounded(levelDbfs)) dB, peak \(rounded(peakDbfs)) dB")
        }
        lines.append("written     \(blocksWritten) blocks")
        let device = playback.device ?? "nothing now"
        lines.append(
            "plays       \(device), volume \(playback.volume), \(rounded(playback.bufferMs)) ms wait, \(playback.underruns) underruns"
        )
        return lines
    }
}
