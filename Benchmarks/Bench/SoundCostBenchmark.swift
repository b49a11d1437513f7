import Glibc
import Posix
import TestSupport
import Time

/// The CPU time of sound, beside ffmpeg with the same bitrate, complexity and packets of Opus.
func soundCostSection(_ options: RunOptions) -> Section {
    var (playing, silent, listener, ffmpeg) = (Samples(), Samples(), Samples(), Samples())
    for _ in 0..<options.rounds {
        playing.record { [try costOfSound(isPlaying: true, seconds: options.seconds)] }
        ffmpeg.record { [try costOfFFmpeg(seconds: options.seconds)] }
        silent.record { [try costOfSound(isPlaying: false, seconds: options.seconds)] }
        listener.record { [try costOfListeners(seconds: options.seconds)] }
    }
    var table = Table(["sound process and its part of the sender", "CPU, % of a core"])
    for (name, samples) in [
        ("stereo is played", playing), ("the same, ffmpeg to one address by SRTP", ffmpeg),
        ("nothing is played", silent), ("a further listener", listener),
    ] {
        table.rows.append([name, samples.median()?.text(2) ?? samples.failureText])
    }
    return Section(
        title: "What sound costs, one listener, still screen",
        table: table,
        goals: [
            soundGoal("CPU of sound, playing", playing.median(), atMost: 1.5, "% of a core", digits: 2, only: "cost"),
            soundGoal(
                "the same, to that of ffmpeg",
                ratio(playing.median(), ffmpeg.median()),
                atMost: 1.3,
                "times",
                digits: 2,
                only: "cost"
            ),
            soundGoal("CPU of sound, silent", silent.median(), atMost: 0.2, "% of a core", digits: 2, only: "cost"),
            soundGoal(
                "CPU of a further listener",
                listener.median(),
                atMost: 0.1,
                "% of a core",
                digits: 2,
                only: "cost"
            ),
        ]
    )
}

/// The sound process, and the sender's difference to the same viewer without sound.
private func costOfSound(isPlaying: Bool, seconds: Double) throws -> Double {
    let scene = try SoundStage(["--sound", "none"], suspends: true)
    let player = isPlaying ? try scene.server.play(SoundStage.noise(), into: "speakers", repeating: true) : nil
    defer { player?.stop() }
    let browser = try scene.web.viewer(sound: scene.server)
    let before = try cpu(of: [scene.web.sender], seconds: seconds)
    try scene.run("sound", "monitor")
    if isPlaying { try wait(until: "the browser gets sound") { try browser.soundPackets > 10 } }
    let during = try cpu(of: [scene.web.sender, scene.sound], seconds: seconds)
    try scene.run("sound", "none")
    let after = try cpu(of: [scene.web.sender], seconds: seconds)
    return during - (before + after) / 2
}

/// ffmpeg with the same sound from the same server. It sends packets of the same length, bitrate and complexity by
/// SRTP.
private func costOfFFmpeg(seconds: Double) throws -> Double {
    let scene = try SoundStage(["--sound", "none"], suspends: true)
    let player = try scene.server.play(SoundStage.noise(), into: "speakers", repeating: true)
    defer { player.stop() }
    let command = scene.web.network.atSender(
        [
            "ffmpeg", "-nostdin", "-loglevel", "error", "-f", "pulse", "-fragment_size", "3840", "-i",
            "speakers.monitor",
            "-c:a", "libopus", "-b:a", "96k", "-frame_duration", "20", "-compression_level", "5", "-packet_loss", "1",
            "-fec", "1",
            "-f", "rtp", "-srtp_out_suite", "AES_CM_128_HMAC_SHA1_80",
            "-srtp_out_params", "b3JpZWwgYmVuY2htYXJrIG9mIHNvdW5kIGtleSBv", "srtp://\(Network.viewerAddress):9000",
        ]
    )
    let ffmpeg = try ChildProcess(command[0], Array(command.dropFirst()), environment: scene.server.environment)
    defer { ffmpeg.stop() }
    let used = try cpu(of: [ffmpeg], seconds: seconds)
    try ffmpeg.requireRunning()
    return used
}

/// The sender's cost for the sound of each of some further viewers.
private func costOfListeners(seconds: Double) throws -> Double {
    let count = 20
    let scene = try SoundStage(["--sound", "none"])
    let player = try scene.server.play(SoundStage.noise(), into: "speakers", repeating: true)
    defer { player.stop() }
    func cost(of viewers: Int) throws -> Double {
        let arguments = ["\(scene.web.origin)/whep", WebStage.token, "\(viewers)", "3600"]
        let load = try Subprocess(scene.web.network.atViewer([Counterparts.load] + arguments))
        defer { load.stop() }
        try scene.run("sound", "none")
        let before = try cpu(of: [scene.web.sender], seconds: seconds)
        try scene.run("sound", "monitor")
        let during = try cpu(of: [scene.web.sender], seconds: seconds)
        try scene.run("sound", "none")
        let after = try cpu(of: [scene.web.sender], seconds: seconds)
        load.stop()
        guard try LoadReport(load.output, of: viewers).leastSoundPackets > 40 * seconds else {
            throw BenchError("a viewer did not hear")
        }
        return during - (before + after) / 2
    }
    return (try cost(of: count + 1) - cost(of: 1)) / Double(count)
}

private func cpu(of processes: [ChildProcess], seconds: Double) throws -> Double {
    sleep(seconds: 3)
    func sum() throws -> Double { try processes.reduce(0) { $0 + (try $1.cpuSeconds()) } }
    let before = try sum()
    let start: Instant = MonotonicClock.now()
    sleep(seconds: seconds)
    return (try sum() - before) / secondsSince(start) * 100
}
