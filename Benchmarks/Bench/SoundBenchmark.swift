import Glibc
import Posix
import TestSupport
import Time

let soundCommand = "tools/bench sound"

/// Sound: latency, cost, and quality over a lossy link. Each is printed as soon as it is measured.
func soundSections(_ options: RunOptions, only name: String) -> [Section] {
    let sections: [(String, (RunOptions) -> Section)] = [
        ("latency", soundLatencySection), ("talk", talkLatencySection), ("cost", soundCostSection),
        ("loss", soundLossSection), ("picture", pictureBesideSoundSection), ("lips", lipsSection),
    ]
    return sections.filter { name.isEmpty || $0.0.contains(name) }.map { _, measure in
        let section = measure(options)
        section.print()
        return section
    }
}

func soundGoal(
    _ name: String,
    _ value: Double?,
    atMost limit: Double,
    _ unit: String,
    digits: Int = 1,
    only: String
) -> Goal {
    Goal(name, value, atMost: limit, unit: unit, digits: digits, command: "\(soundCommand) --only \(only)")
}

/// The ratio of two measurements; nil if either failed.
func ratio(_ value: Double?, _ other: Double?) -> Double? {
    value.flatMap { value in other.map { value / $0 } }
}

// MARK: - Latency

private func soundLatencySection(_ options: RunOptions) -> Section {
    var (sample, loopBack) = (Samples(), Samples())
    for _ in 0..<options.rounds {
        sample.record {
            let scene = try SoundStage(["--sound", "monitor"])
            let playing = try scene.server.play(SoundStage.noise(), into: "speakers", repeating: true)
            defer { playing.stop() }
            return try scene.latency(heardBy: scene.listener(), seconds: options.seconds)
        }
        loopBack.record {
            let scene = try SoundStage(["--sound", "none"])
            let playing = try scene.server.play(SoundStage.noise(), into: "speakers", repeating: true)
            defer { playing.stop() }
            return try scene.latency(heardBy: scene.loopBack(), seconds: options.seconds)
        }
    }
    var table = Table(["played to heard", "p50 ms", "p95 ms"])
    for (name, samples) in [("Oriel to Chromium", sample), ("Chromium to itself", loopBack)] {
        table.rows.append([name, samples.median(0)?.text(1) ?? samples.failureText, samples.median(1)?.text(1) ?? ""])
    }
    return Section(
        title: "Sound, from the speakers of one machine to those of a browser, no delay of the network",
        table: table,
        goals: [
            soundGoal("played to heard in Chromium, p50", sample.median(0), atMost: 60, "ms", only: "latency"),
            soundGoal("played to heard in Chromium, p95", sample.median(1), atMost: 90, "ms", only: "latency"),
            soundGoal(
                "the same, p50, to that of Chromium to itself",
                ratio(sample.median(0), loopBack.median(0)),
                atMost: 1.3,
                "times",
                digits: 2,
                only: "latency"
            ),
        ],
        notes: [
            "The played and the heard sound are the two channels of one device of PulseAudio.",
            "\"Chromium to itself\" is a page that takes the same sound as a microphone, sends it by WebRTC to itself and plays it.",
        ]
    )
}

private func talkLatencySection(_ options: RunOptions) -> Section {
    var sample = Samples()
    for _ in 0..<options.rounds {
        sample.record {
            let scene = try SoundStage(["--output", "ears"], senderOptions: ["--talkback", "on"])
            // The browser's microphone gets the sound of the speakers.
            try scene.server.pactl("set-default-source", "mouth")
            let playing = try scene.server.play(SoundStage.speech(), into: "speakers", repeating: true)
            defer { playing.stop() }
            let browser = try scene.web.viewer(sound: scene.server)
            try wait(until: "the page may speak") {
                try browser.evaluate("!document.getElementById('talk').hidden", as: Bool.self)
            }
            try browser.activate()
            let _: Bool? = try browser.evaluateOptional("document.getElementById('talk').click()")
            try wait(until: "it speaks") {
                try browser.evaluate("document.documentElement.dataset.talk === 'on'", as: Bool.self)
            }
            sleep(seconds: 5)
            let recording = try scene.server.record("lab.monitor", channels: 2)
            sleep(seconds: options.seconds + 1)
            let delays = try SoundStage.delays(in: recording.stop(), of: true)
            return [delays.median!, delays.percentile(95)!]
        }
    }
    var table = Table(["spoken to the speakers", "p50 ms", "p95 ms"])
    table.rows.append(["Chromium", sample.median(0)?.text(1) ?? sample.failureText, sample.median(1)?.text(1) ?? ""])
    return Section(
        title: "Talk-back, from the microphone of a browser to the speakers of the sender, no delay of the network",
        table: table,
        goals: [soundGoal("talk-back, spoken to the speakers, p50", sample.median(0), atMost: 80, "ms", only: "talk")]
    )
}

// MARK: - Loss

private func soundLossSection(_ options: RunOptions) -> Section {
    var (whole, lossy) = (Samples(), Samples())
    for _ in 0..<options.rounds {
        whole.record { try soundOverLink(losing: 0, seconds: options.seconds) }
        lossy.record { try soundOverLink(losing: 0.03, seconds: options.seconds) }
    }
    var table = Table(["random loss", "longest gap, ms", "kb/s sent", "concealed, %"])
    for (name, samples) in [("none", whole), ("3 %", lossy)] {
        table.rows.append(
            [name, samples.values.map { $0[0] }.max()?.text(0) ?? samples.failureText]
                + [1, 2].map { samples.median($0)?.text(1) ?? "" }
        )
    }
    let overhead = lossy.median(1).flatMap { lossy in whole.median(1).map { (lossy / $0 - 1) * 100 } }
    return Section(
        title: "Sound over a link that loses packets, round trip of 40 ms",
        table: table,
        goals: [
            soundGoal(
                "3 % loss: the longest gap",
                lossy.values.map { $0[0] }.max(),
                atMost: 20,
                "ms",
                digits: 0,
                only: "loss"
            ),
            soundGoal("3 % loss: more on the wire", overhead, atMost: 10, "%", only: "loss"),
        ],
        notes: ["A gap is where less than a tenth of the tone is heard."]
    )
}

/// The longest gap in milliseconds, the sent kb/s, and the concealed part in %.
private func soundOverLink(losing loss: Double, seconds: Double) throws -> [Double] {
    var link = Link()
    (link.loss, link.roundTrip) = (loss, .milliseconds(40))
    let scene = try SoundStage(["--sound", "monitor"], link: link)
    let playing = try scene.server.play(.tone(440, lasting: 1, channels: 2), into: "speakers", repeating: true)
    defer { playing.stop() }
    let browser = try scene.listener()
    sleep(seconds: 5)
    struct Sent: Decodable {
        let bytes: Double
        let concealed: Double
        let samples: Double
        let at: Double
    }
    func sent() throws -> Sent {
        try browser.evaluate(
            """
            (async () => {
                const [, receiver] = oriel.pc.getReceivers(), report = [...(await receiver.getStats()).values()];
                const inbound = report.find(({type}) => type === 'inbound-rtp');
                return {bytes: inbound.bytesReceived + inbound.headerBytesReceived, concealed: inbound.concealedSamples,
                    samples: inbound.totalSamplesReceived, at: inbound.timestamp};
            })()
            """
        )
    }
    let recording = try scene.server.record("lab.monitor", channels: 2)
    let before = try sent()
    sleep(seconds: 2 * seconds)
    let after = try sent()
    let heard = recording.stop().channel(1)
    let received = (after.bytes - before.bytes) * 8 / (after.at - before.at)
    return [
        longestGap(in: heard), received / (1 - loss),
        (after.concealed - before.concealed) / (after.samples - before.samples) * 100,
    ]
}

/// Milliseconds without an audible tone.
private func longestGap(in samples: [Float]) -> Double {
    let part = 48  // a millisecond
    let levels = stride(from: 0, to: samples.count - 5 * part, by: part).map {
        SoundAnalysis.level(in: Array(samples[$0..<$0 + 5 * part]))
    }
    guard let usual = levels.median else { return .infinity }
    var (longest, now) = (0, 0)
    for level in levels {
        now = level < usual - 20 ? now + 1 : 0
        longest = max(longest, now)
    }
    return Double(longest)
}

// MARK: - The picture

/// The picture's latency with and without sound beside it, in turns.
private func pictureBesideSoundSection(_ options: RunOptions) -> Section {
    var (without, with) = (Samples(), Samples())
    for _ in 0..<options.rounds {
        without.record { try pictureLatency(beside: "none", seconds: options.seconds) }
        with.record { try pictureLatency(beside: "monitor", seconds: options.seconds) }
    }
    var table = Table(["", "shown, p50 ms", "p95"])
    for (name, samples) in [("without sound", without), ("with sound", with)] {
        table.rows.append([name, samples.median(2)?.text(1) ?? samples.failureText, samples.median(3)?.text(1) ?? ""])
    }
    let ratio = with.median(2).flatMap { with in without.median(2).map { with / $0 } }
    return Section(
        title: "The picture beside sound: paint to shown in Chromium, small change at 7 Hz",
        table: table,
        goals: [
            soundGoal(
                "the picture's latency, with sound to without",
                ratio,
                atMost: 1.1,
                "",
                digits: 2,
                only: "picture"
            )
        ]
    )
}

private func pictureLatency(beside source: String, seconds: Double) throws -> [Double] {
    let scene = try SoundStage(["--sound", source], workload: "counter")
    let playing = try scene.server.play(SoundStage.noise(), into: "speakers", repeating: true)
    defer { playing.stop() }
    return try pictureLatency(from: scene.web, in: scene.web.viewer(sound: scene.server), seconds: seconds)
}

/// The delay of sound behind the picture, by the capture times that the sender gives both, each second for a hundred
/// times as long as other measurements.
private func lipsSection(_ options: RunOptions) -> Section {
    var sample = Samples()
    sample.record {
        let scene = try SoundStage(["--sound", "monitor"], workload: "counter")
        // Browsers shorten late speech, but no noise.
        let playing = try scene.server.play(SoundStage.speech(), into: "speakers", repeating: true)
        defer { playing.stop() }
        let browser = try scene.listener()
        return try skew(in: browser, seconds: 100 * options.seconds)
    }
    var table = Table(["sound behind the picture, ms", "p5", "p95", "drift from the first fifth to the last"])
    table.rows.append(
        [sample.median(0)?.text(1) ?? sample.failureText] + (1..<4).map { sample.median($0)?.text(1) ?? "" }
    )
    return Section(
        title: "Lip sync in Chromium over \((100 * options.seconds / 60).text(0)) minutes",
        table: table,
        goals: [
            soundGoal("sound behind the picture", sample.median(0).map(\.magnitude), atMost: 20, "ms", only: "lips"),
            soundGoal("drift between the two", sample.median(3).map(\.magnitude), atMost: 20, "ms", only: "lips"),
        ]
    )
}

/// The median, the 5th and 95th percentile of the sound's delay behind the picture in milliseconds, and the difference
/// between the last fifth of the time and the first.
private func skew(in browser: Browser, seconds: Double) throws -> [Double] {
    sleep(seconds: 5)
    let _: Bool? = try browser.evaluateOptional(
        """
        (() => {
            window.skews = [];
            setInterval(async () => {
                const report = [...(await oriel.pc.getStats()).values()].filter(({type}) => type === 'inbound-rtp');
                const at = kind => report.find(entry => entry.kind === kind)?.estimatedPlayoutTimestamp;
                if (at('video') && at('audio')) skews.push(at('video') - at('audio'));
            }, 1000);
        })()
        """
    )
    sleep(seconds: seconds)
    let skews = try browser.evaluate("skews", as: [Double].self)
    guard let middle = skews.median else { throw BenchError("the browser tells of no playout") }
    let (first, last) = (Array(skews.prefix(skews.count / 5)).median!, Array(skews.suffix(skews.count / 5)).median!)
    return [middle, skews.percentile(5)!, skews.percentile(95)!, last - first]
}
