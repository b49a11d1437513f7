import FrameBridge
import Glibc
import Posix
import Synchronization
import TestSupport
import Time

/// A sound server, a broadcast whose sound process hears it, and a reader of what that writes. All run as the user of the tests, who reads
/// the bridge.
final class SoundScene {
    let sound: PulseServer
    let screen: XServer
    let broadcast: Broadcast
    let capture: Subprocess
    private(set) var process: Subprocess
    let listener: SoundListener

    /// Starts all, and waits until the sound process answers.
    ///
    /// - Parameters:
    ///   - arguments: of `oriel hear`.
    ///   - sound: a sound server; nil for one with speakers and a microphone.
    ///   - screen: nil for one with nothing on it.
    ///   - source: of `oriel start`.
    ///   - environment: more for the sound process.
    init(
        _ arguments: String...,
        of sound: PulseServer? = nil,
        on screen: XServer? = nil,
        showing source: [String] = [],
        environment: [String: String] = [:]
    ) throws {
        self.sound =
            try sound
            ?? PulseServer(speakers: [.init("speakers"), .init("headset")], microphones: [.init("mic", channels: 1)])
        self.screen = try screen ?? XServer()
        broadcast = try Broadcast(on: self.screen.display, isOfTests: true)
        capture = try Subprocess(
            [broadcast.oriel, "start", "--display", self.screen.display, "--dir", broadcast.directory] + source
        )
        try broadcast.wait(forState: "active")
        let environment = self.sound.environment.merging(environment) { $1 }
        process = try Self.hear(broadcast, environment, arguments)
        listener = try SoundListener(broadcast.directory)
    }

    deinit {
        process.stop()
        capture.stop()
    }

    private static func hear(
        _ broadcast: Broadcast,
        _ environment: [String: String],
        _ arguments: [String]
    ) throws -> Subprocess {
        let process = try Subprocess(
            [broadcast.oriel, "hear", "--dir", broadcast.directory] + arguments,
            environment: environment
        )
        try process.wait(until: "the sound process answers") { try broadcast.run("sound").code == 0 }
        return process
    }

    /// Kills the sound process, and starts another.
    func restart(_ arguments: String...) throws {
        process.kill(SIGKILL)
        try process.wait()
        process = try Self.hear(broadcast, sound.environment, arguments)
    }

    /// What `oriel status` says of the sound, when the sound process answers in time.
    func status() throws -> SoundReport {
        var report: SoundReport?
        try wait(until: "the sound process tells of the sound") {
            report = SoundReport(try broadcast.run("status", "--json").output)
            return report != nil
        }
        return report!
    }

    /// Waits until `oriel sound` says that it hears something.
    func waitUntilItHears() throws {
        try wait(until: "it hears: \(process.errorOutput)") { try status().state == "hearing" }
    }

    /// What `pactl` lists of a kind, a line each.
    func list(_ kind: String) throws -> [Substring] {
        try sound.pactl("list", "short", kind).split(separator: "\n")
    }

    /// Plays a tone until it is stopped, and waits until it is heard, or not.
    func play(_ frequency: Double, level: Double = 0.25, into device: String? = nil) throws -> Subprocess {
        try sound.play(.tone(frequency, lasting: 1, level: level), into: device, repeating: true)
    }

    /// The level of a tone in what is heard from now on, in dB; of the left or only channel.
    func level(of frequency: Double) throws -> Double {
        SoundAnalysis.level(of: frequency, in: try halfSecond())
    }

    /// The same of each tenth of a second, for a tone that begins: it is stretched into its place, by what half a second takes for another
    /// tone, and a tenth does not.
    func levelsOfBeginning(_ frequency: Double) throws -> [Double] {
        let samples = try halfSecond()
        return stride(from: 0, to: 24_000, by: 4800).map {
            SoundAnalysis.level(of: frequency, in: Array(samples[$0..<$0 + 4800]))
        }
    }

    private func halfSecond() throws -> [Float] {
        listener.clear()
        try wait(until: "half a second is heard") { listener.heard.blocks.count >= 50 }
        return listener.heard.channel()
    }

    /// Waits until a tone is heard, or is not heard any more.
    func wait(untilToneOf frequency: Double, isHeard: Bool = true) throws {
        try wait(until: "the tone of \(frequency) Hz is \(isHeard ? "" : "not ")heard") {
            try (level(of: frequency) > -60) == isHeard
        }
    }

    private func wait(until what: String, _ condition: () throws -> Bool) throws {
        try TestSupport.wait(until: what, condition)
    }
}

/// What `oriel status --json` says of the sound, as far as tests ask for it.
struct SoundReport {
    let state: String
    let source: String
    let isMicrophoneLive: Bool
    let text: String

    init?(_ json: String) {
        guard let start = json.firstRange(of: "\"sound\":{") else { return nil }
        text = String(json[start.upperBound...])
        guard let state = text.firstMatch(of: /"state":"([a-z]+)"/),
            let source = text.firstMatch(of: /"source":"([a-z]+)"/)
        else { return nil }
        self.state = String(state.1)
        self.source = String(source.1)
        isMicrophoneLive = text.contains("\"is_microphone_live\":true")
    }

    /// A number of the report.
    func number(_ name: String) -> Double? {
        guard let field = text.firstRange(of: "\"\(name)\":") else { return nil }
        return Double(text[field.upperBound...].prefix { "-+.0123456789e".contains($0) })
    }
}

/// Reads a broadcast's sound as it comes, on a thread of its own.
final class SoundListener: Sendable {
    /// What was heard.
    struct Heard {
        var blocks: [SoundBlock] = []
        var samples: [[Int16]] = []
        var lost: UInt64 = 0
        /// When the last block came.
        var cameAt = Instant.start
        /// How much later than they were captured blocks came.
        var delays: [Duration] = []

        /// One channel from the first block on, with silence where there are gaps.
        func channel(_ channel: Int = 0) -> [Float] {
            guard let start = blocks.first?.capturedAt else { return [] }
            var sound: [Float] = []
            for (block, samples) in zip(blocks, samples) {
                let place = Int(((block.capturedAt - start) / SoundBlock.duration).rounded()) * SoundBlock.samples
                guard place >= sound.count else { continue }
                sound += repeatElement(0, count: place - sound.count)
                sound += stride(from: min(channel, block.channels - 1), to: samples.count, by: block.channels)
                    .map { Float(samples[$0]) / 32768 }
            }
            return sound
        }

        /// That with a second of silence before and behind it, as silence is not sent.
        func recording(_ channel: Int = 0) -> [Float] {
            let silence = [Float](repeating: 0, count: SoundBlock.sampleRate)
            return silence + self.channel(channel) + silence
        }

        /// How often a block did not follow the one before.
        var gaps: Int { blocks.dropFirst().count { !$0.follows } }
    }

    private let state = Mutex(Heard())
    private let isEnding = Atomic(false)
    private let thread = Mutex<Posix.Thread?>(nil)

    init(_ directory: String) throws {
        let folder = try BridgeDirectory(path: directory, create: false)
        try thread.withLock { thread in
            thread = try Posix.Thread { [weak self] in
                var reader = SoundReader(directory: folder)
                while let listener = self, !listener.isEnding.load(ordering: .acquiring) { listener.hear(&reader) }
            }
        }
    }

    /// What was heard since the beginning, or since `clear`.
    var heard: Heard { state.withLock { $0 } }

    func clear() { state.withLock { $0 = Heard() } }

    /// What was heard, once nothing has come for half a second.
    func heardUntilItRests() throws -> Heard {
        let start = MonotonicClock.now()
        try wait(until: "nothing comes any more") {
            MonotonicClock.now() > max(start, heard.cameAt) + .milliseconds(500)
        }
        return heard
    }

    func close() {
        isEnding.store(true, ordering: .releasing)
        thread.withLock { $0.take() }?.join()
    }

    private func hear(_ reader: inout SoundReader) {
        let outcome = try? reader.read { block, samples in
            let now = MonotonicClock.now()
            var copy: [Int16] = []
            for index in samples.indices { copy.append(samples[index]) }
            state.withLock { heard in
                heard.blocks.append(block)
                heard.samples.append(copy)
                heard.cameAt = now
                heard.delays.append(now - block.capturedAt)
            }
        }
        switch outcome {
        case .block: break
        case .lost(let count): state.withLock { $0.lost += count }
        case .some(.none), nil: reader.wait(until: MonotonicClock.now() + .milliseconds(100))
        }
    }
}
