import FrameBridge
import Glibc
import Posix
import Time

/// Writes sound as the words say, one after the other: `N` is so many blocks, for ever if it is 0; `hide` forbids to hear what was
/// captured before; `again` cuts or removes its own file; `hold` waits for ever, with heartbeats; `stop` says
/// goodbye.
///
/// - Parameter options: `storage`, and `rate` in blocks a second, as fast as it goes if it is 0. `talk=1` writes what the peers of a
///   sender would say, in the folder of this process. `verbose=1` tells of every block.
func speak(in directory: BridgeDirectory, _ options: Options) throws {
    let storage = options["storage"].flatMap { FrameStorage(rawValue: $0) } ?? .file
    let rate = options["rate", default: 0]
    let sender = options["talk"] == nil ? nil : try ProcessFolder(.sender, in: directory)
    var writer =
        if let sender { try SoundWriter(talkIn: sender) } else { try SoundWriter(in: directory, storage: storage) }
    say("speaks=\(getpid())")
    let buffers = (1...2).map { [Int16](repeating: 0, count: SoundBlock.samples * $0) }
    var speech = Speech(buffers: buffers)
    for word in options.rest {
        switch word {
        case "hide":
            let instant = now()
            say("hides=")
            writer.hide(before: instant)
            say("hides=\(instant.nanoseconds)")
        case "again":
            guard let name = directory.soundFile else { exit(64) }
            // Memory cannot be cut.
            if storage == .memfd {
                unlink("\(directory.path)/\(name)")
                MonotonicClock.sleep(for: .milliseconds(510))
                writer.heartbeat()
            } else {
                truncate("\(directory.path)/\(name)", 4096)
            }
            say("again=1")
        case "hold":
            while true {
                writer.heartbeat()
                MonotonicClock.sleep(for: .milliseconds(20))
            }
        case "stop":
            say("stops=\(speech.count)")
            return
        default:
            guard let count = UInt64(word) else { exit(64) }
            let (start, before) = (now(), speech.count)
            while count == 0 || speech.count < before + count {
                try speech.writeBlock(&writer)
                if speech.count == before + count || speech.count == 1 || options["verbose"] != nil {
                    say("written=\(speech.count)")
                }
                guard rate > 0 else { continue }
                writer.heartbeat()
                MonotonicClock.sleep(until: start + .nanoseconds((speech.count - before) * 1_000_000_000 / rate))
            }
        }
    }
}

private struct Speech {
    /// Of one channel and of two.
    var buffers: [[Int16]]
    private(set) var count: UInt64 = 0
    private var last = Instant(nanoseconds: 0)

    init(buffers: [[Int16]]) { self.buffers = buffers }

    mutating func writeBlock(_ writer: inout SoundWriter) throws {
        last = max(now(), last + .nanoseconds(1))
        let channels = SoundPattern.channels(at: last)
        SoundPattern.fill(&buffers[channels - 1], at: last)
        count += 1
        let samples = buffers[channels - 1]
        try writer.write(
            samples.span,
            channels: channels,
            capturedAt: last,
            follows: SoundPattern.follows(at: last)
        )
    }
}
