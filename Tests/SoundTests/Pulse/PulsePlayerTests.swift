import TestSupport
import TestTraits
import Testing
import Time

@testable import Sound

/// The streams of the sound process at a real sound server.
@Suite(.waits(seconds: 10)) struct PulsePlayerTests {
    /// PipeWire has recordings wait for a connection that it asks for samples at the same time. What is played there is this process's own all
    /// the same.
    @Test func whatIsPlayedHasAConnectionOfItsOwn() throws {
        let server = try PulseServer()
        let loop = PulseLoop()
        var events: [SoundSession.Event] = []
        let connection = PulseConnection(loop, to: server.address) { events.append($0) }
        defer { connection.close() }
        func turn(until what: String, _ condition: () throws -> Bool) throws {
            try wait(until: "\(what): \(events)", restsBetween: false) {
                loop.turn(until: .start)
                return try condition()
            }
        }
        var view: ServerView? {
            for case .viewed(let view) in events.reversed() { return view }
            return nil
        }
        connection.connect()
        try turn(until: "the server is known") { view != nil }
        let tell: (SoundSession.Event) -> Void = { events.append($0) }
        let recorder = PulseRecorder(1, .monitor("speakers.monitor"), on: connection, tell: tell) { _ in }
        let player = PulsePlayer(2, on: loop, beside: connection, tell: tell) { $0.update(repeating: 0) }
        defer {
            recorder.close()
            player.close()
        }
        recorder.connect()
        player.connect(to: "speakers")
        try turn(until: "both are open") { events.contains(.opened(1)) && events.contains(.opened(2)) }
        try turn(until: "what is played is this process's own") { view!.inputs.map(\.isOwn) == [true] }
        /// Those of the streams of a kind: the third column.
        func clients(_ streams: String) throws -> [Substring] {
            try server.pactl("list", "short", streams).split(separator: "\n").map { $0.split(separator: "\t")[2] }
        }
        let (playing, recording) = (try clients("sink-inputs"), try clients("source-outputs"))
        #expect(playing.count == 1 && recording.count == 1 && playing != recording)
        player.close()
        try turn(until: "it is gone") { try clients("sink-inputs").isEmpty }
    }
}
