import ArgumentParser
import Configuration
import Control
import FrameBridge
import Helpers
import JSON
import Media
import Posix
import Publishing
import Sound

struct Hear: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Capture sound for a broadcast, and play its viewers' voices.",
        discussion: """
            "oriel share" starts it, too. It needs a PulseAudio, or a PipeWire that speaks its protocol; where there is none, it waits for \
            one. "oriel sound" changes what is heard, and "oriel mute" ends it for a while.
            """
    )

    @OptionGroup var broadcast: BroadcastOptions
    @OptionGroup var sound: SoundOptions

    @Option(
        help: ArgumentHelp("Append when the microphone goes live and ends, one JSON object each.", valueName: "file")
    )
    var events: String?

    func run() throws { try sound.settings(of: broadcast, events).run() }
}

/// What a sound process keeps for one that comes later.
struct SoundBequest: Codable {
    let wish: SoundWish
    let mute: SoundMute
}

extension SoundProcessSettings {
    func run() throws {
        let signals = try TerminationSignals()
        let directory = try BridgeDirectory(path: broadcast, create: true)
        let lock = try AudioLock(in: directory)
        let kept = lock.kept
        let bequest = kept.flatMap { try? SoundBequest(jsonLine: $0) }
        // "oriel sound" may have changed it since the first start.
        let wish = goesOn ? bequest?.wish ?? wish : wish
        // What cannot be read may have been a mute.
        let mute = bequest?.mute ?? SoundMute(microphone: kept != nil, all: kept != nil)
        let listener = try lock.listen()
        let log = try EventLog(path: events)
        defer { log.close() }
        try enterSandbox(by: SoundServerPlace.sandbox(directory.path, Console.note).enter)
        try log.begin()
        if mute.all || mute.microphone {
            Console.note("\(mute.all ? "all sound" : "the microphone") is still muted: end that with \"oriel unmute\"")
        }
        let process = try SoundProcess(wish, mute, in: directory, holding: lock) { note in
            log.tell(CallEvent(note))
        } bequest: { wish, mute in
            try SoundBequest(wish: wish, mute: mute).jsonLine()
        }
        let control = try LineServer(answering: listener, process.reply)
        defer { control.close() }
        if try process.run(until: signals) == .broadcastStopped { process.forget() }
    }
}

extension CallEvent {
    init(_ note: SoundNote) {
        self.init(sentence: "\(note)")
        switch note {
        case .microphoneLive(let device): (kind, state, name) = (.microphone, "live", device)
        case .microphoneOff: (kind, state) = (.microphone, "off")
        default: break
        }
    }
}
