import ArgumentParser
import Calls
import Configuration
import Helpers
import Publishing

struct Attach: ParsableCommand, SenderCommand {
    static let configuration = CommandConfiguration(
        abstract: "Attach a sender to a broadcast and stream it into calls.",
        discussion: """
            A CALL is "web": browsers look in by the address that goes to standard output; room+https://HOST/ROOM: the other \
            member of a one-to-one room whose server speaks Socket.IO, such as "oriel rooms"; whip+https://HOST/PATH: a media server, by WHIP; janus+ws://HOST:PORT/ROOM: a room of \
            a Janus server; cmaf+https://HOST/PATH/: a server that takes segments; or rtp://HOST:PORT: plain, \
            unencrypted RTP to one receiver or multicast group, with RTCP on the next port, and the description that a \
            receiver needs (SDP) goes to standard output or to the file of --sdp. Several calls share one encode where they \
            take the same. With --running, a sender that is attached already takes the calls: this ends when they stand, and \
            "oriel leave" ends them.
            """
    )

    @Argument(
        help: ArgumentHelp(
            "Where to: \(CallKinds.own.forms); several may be given.",
            valueName: "call"
        ),
        transform: { try CallPlan(parsing: $0) }
    )
    var calls: [CallPlan]

    @OptionGroup var broadcast: BroadcastOptions

    @Flag(help: "Hand the calls to the sender that runs, which keeps the options of its start.")
    var running = false

    @OptionGroup var choice: SenderChoice
    @OptionGroup var video: VideoOptions
    @OptionGroup var sending: SenderOptions
    @OptionGroup var entry: AcceptOptions
    @OptionGroup var talk: TalkOptions
    @OptionGroup(title: "Options for commands of viewers") var desktop: DesktopOptions
    @OptionGroup(title: "Options of web") var web: WebOptions
    @OptionGroup(title: "Options of room+, whip+, cmaf+ and janus+") var joined: JoinedCallOptions
    @OptionGroup(title: "Options of room+") var room: RoomOptions
    @OptionGroup(title: "Options of room+") var rendering: RenderOptions
    @OptionGroup(title: "Options of cmaf+") var push: PushOptions
    @OptionGroup(title: "Options of rtp://") var rtp: PlainRTPOptions

    @Option(help: "Frames a second at most, 1 to 60.")
    var fps = 30

    @Flag(
        help: "Offer sound to rooms, media servers and plain receivers even if there is none yet, as to browsers."
    )
    var sound = false

    @Flag(inversion: .prefixedNo, help: "Wait for a broadcast if there is none; with --running, until the calls stand.")
    var wait = true

    func validate() throws {
        try require("--fps", fps, in: 1...60)
        try joined.validate(for: calls)
        try push.validate(for: calls)
        let plainCalls = calls.count { $0.kind == PlainCall.kind }
        if rtp.print != nil, plainCalls < calls.count {
            throw ValidationError("--print tells the receivers of rtp:// calls what they need: give such calls alone.")
        }
        try rendering.validate(for: calls, printsDescriptions: plainCalls > 0 && rtp.sdp == nil)
        guard plainCalls > 1 else { return }
        if rtp.sdp != nil {
            throw ValidationError("--sdp takes the description of one rtp:// call: attach a sender to each.")
        }
        if rtp.localPort != nil {
            throw ValidationError("--local-port is for one rtp:// call: attach a sender to each.")
        }
    }

    /// What is to be done instead, with the same command line, if a sender that runs gets the calls.
    private func handOver() throws -> HandOver? {
        if !running, choice.pid == nil { return nil }
        if rtp.print != nil { throw ValidationError("--print hands nothing over: leave --running out.") }
        do { return try HandOver.parse(Array(CommandLine.arguments.dropFirst(2))) } catch {
            // That it does not know an option: this command knew them all.
            let option = HandOver.message(for: error).split(separator: "'").dropFirst().first ?? "the other options"
            throw ValidationError("a sender that runs keeps the options of its start: leave \(option) out")
        }
    }

    func run() throws {
        if let handOver = try handOver() { return try handOver.run() }
        if let receiver = rtp.print {
            let rendition = video.settings.renditions(fps: fps)[0]
            for destination in try calls.map({ try RTPDestination(parsing: $0.argument) }) {
                Console.emit(try receiver.instructions(for: destination, rendition, hasSound: sound))
            }
            return
        }
        var settings = try settings
        try settings.desktop.findSources()
        Secret.Variable.removeAll()
        try settings.run()
    }

    var settings: SenderProcessSettings {
        get throws {
            var settings = try settings(for: calls)
            settings.framesPerSecond = fps
            (settings.rendering.render, settings.rendering.preview) = (rendering.render, rendering.preview)
            (settings.plain.sdp, settings.plain.localPort) = (rtp.sdp, rtp.localPort)
            settings.push = push.settings
            (settings.conduct.offersSound, settings.conduct.waitsForBroadcast) = (sound, wait)
            return settings
        }
    }
}
