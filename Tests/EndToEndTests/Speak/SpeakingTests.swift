import FoundationEssentials
import Glibc
import Posix
import TestSupport
import Testing

/// Whoever reads what viewers say, as the sound process does.
final class Listener {
    let listener: Subprocess
    private let path: String

    init(to broadcast: Broadcast) throws {
        path = broadcast.folder.file("said")
        listener = try Subprocess([Programs.bridgePeer, "record", broadcast.directory, path])
        try wait(until: "it listens") { [listener] in
            if let exit = listener.status() { throw Unexpected("\(exit): \(listener.output)") }
            return listener.output.contains("begun")
        }
    }

    var heard: HeardSound { HeardSound(path) }
    var seconds: Double { SoundClip.duration(of: path, channels: 2) }

    /// Waits for more of what is said.
    func hear(_ more: Double, _ sender: Subprocess) throws -> HeardSound {
        let before = seconds
        try wait(until: "\(more) s more are heard: \(sender.errorOutput)") { [self] in
            if let exit = listener.status() { throw Unexpected("\(exit): \(listener.output)") }
            return seconds >= before + more
        }
        let clip = heard.clip
        return HeardSound(clip.part(before..<clip.duration))
    }
}

/// What `oriel status` tells of a viewer.
struct TalkStatus: Decodable {
    struct Viewer: Decodable {
        struct Voice: Decodable {
            let levelDb: Double?
            let lossRatio: Double
            let concealedRatio: Double
            let bufferMs: Double
        }

        let id: Int
        let talk: String
        let voice: Voice?
    }

    let viewers: [Viewer]
}

extension Broadcast {
    func talkers() throws -> [TalkStatus.Viewer] {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(TalkStatus.self, from: Data(run("status", "--json").output.utf8)).viewers
    }

    /// The number of the viewer who is in that state.
    func talker(_ state: String) throws -> Int {
        var number: Int?
        try TestSupport.wait(until: "a viewer is \(state)") {
            number = try talkers().first { $0.talk == state }?.id
            return number != nil
        }
        return number!
    }

    func talk(_ number: Int, _ choice: String) throws {
        let result = try run("talk", "\(number)", choice)
        guard result.code == 0 else { throw Unexpected(result.errorOutput) }
    }
}

/// What viewers say, in the ring that the sound process plays.
extension Speak {
    @Suite struct SpeakingTests {
        private func speak(
            _ stack: Counterparts.Stack,
            in web: WebBroadcast,
            _ arguments: String...
        ) throws -> Subprocess {
            let all = ["--seconds", "300"] + arguments
            return try Counterparts.viewer(stack, of: web.whep, token: WebBroadcast.token, in: web.network, all)
        }

        private func end(_ viewer: Subprocess) throws -> Counterparts.Report {
            viewer.kill(SIGTERM)
            return try Counterparts.report(viewer)
        }

        /// Heard when somebody lets it, and only then.
        @Test(arguments: [Counterparts.Stack.aiortc, .gstreamer])
        func whoIsLetSpeakIsHeard(stack: Counterparts.Stack) throws {
            let folder = try TemporaryDirectory(of: .shared)
            let web = try WebBroadcast("--talkback", "ask", "--events", folder.file("events"))
            let listener = try Listener(to: web.broadcast)
            let viewer = try speak(stack, in: web, "--talk", "700", "--ask")
            let number = try web.broadcast.talker("asked")
            try web.sender.wait(until: "somebody is told") {
                web.sender.errorOutput.contains("viewer \(number) asks to speak: \"oriel talk \(number) on\" lets it")
            }
            #expect(listener.seconds == 0)
            try web.broadcast.talk(number, "on")
            _ = try listener.hear(1, web.sender)
            let heard = try listener.hear(2, web.sender)
            for channel in 0...1 { #expect(heard.purity(of: 700, channel: channel, in: 0.5..<2) > 25) }
            var told: TalkStatus.Viewer?
            try wait(until: "it is told how it is heard: \(told.map { "\($0)" } ?? "not at all")") {
                told = try web.broadcast.talkers().first { $0.id == number }
                guard told?.talk == "speaking", let voice = told?.voice, let level = voice.levelDb else { return false }
                return -25 ... -5 ~= level && 10...400 ~= voice.bufferMs
            }
            try web.broadcast.talk(number, "off")
            // What was written before may be read a little later.
            var seconds = listener.seconds
            try wait(until: "nothing is heard any more") {
                MonotonicClock.sleep(for: .milliseconds(500))
                defer { seconds = listener.seconds }
                return listener.seconds == seconds
            }
            #expect(try web.broadcast.talkers().first?.talk == "none")
            #expect(try web.broadcast.talkers().first?.voice == nil)
            let report = try end(viewer)
            #expect(report.error == nil)
            #expect(report.talk?.status == 202 && report.talk?.state == "asked")
            #expect(listener.seconds == seconds)
            #expect(listener.listener.output.contains("lost") == false)
            let events = String(decoding: try contents(of: folder.file("events")), as: UTF8.self).split(separator: "\n")
            for event in ["talk_asked", "talk_granted", "talk_started", "talk_ended", "talk_revoked"] {
                #expect(events.contains { $0.contains("\"\(event)\"") && $0.contains("\"id\":\(number)") })
            }
        }

        /// Without --talkback no peer is even asked to send.
        @Test func whereNobodyIsHeardNobodyIsAskedToSend() throws {
            let web = try WebBroadcast()
            let viewer = try speak(.aiortc, in: web, "--talk", "700", "--ask", "--frames", "1")
            let report = try Counterparts.report(viewer)
            #expect(report.error == nil && report.frames >= 1)
            #expect(report.talk?.status == 403)
            let result = try web.broadcast.run("talk", "1", "on")
            #expect(result.code != 0)
        }

        /// Two at once if there are places for both, and else the first.
        @Test(arguments: [1, 2])
        func severalSpeak(places: Int) throws {
            let web = try WebBroadcast("--talkback", "on", "--talkers", "\(places)")
            let listener = try Listener(to: web.broadcast)
            let first = try speak(.gstreamer, in: web, "--talk", "700")
            _ = try listener.hear(1, web.sender)
            let second = try speak(.aiortc, in: web, "--talk", "1500")
            try wait(until: "both are there") { try web.broadcast.talkers().count == 2 }
            if places == 2 {
                try wait(until: "both speak") { try web.broadcast.talkers().allSatisfy { $0.talk == "speaking" } }
            }
            _ = try listener.hear(1, web.sender)
            // If nothing comes of the first for a second, the second has the only place.
            var levels: [Double] = []
            try measure("\(places) are heard: \(levels)") {
                let heard = try listener.hear(2, web.sender).clip.channel()
                levels = [700.0, 1500].map { SoundAnalysis.level(of: $0, in: heard) }
                return levels.count { $0 > -25 } == places && levels.count { $0 < -45 } == 2 - places
            }
            // The first one leaves: the second has the place.
            _ = try end(first)
            try wait(until: "the second speaks") {
                try web.broadcast.talkers().contains { $0.talk == "speaking" }
            }
            _ = try listener.hear(2, web.sender)
            let rest = try listener.hear(1, web.sender).clip.channel()
            #expect(SoundAnalysis.level(of: 1500, in: rest) > -25)
            #expect(SoundAnalysis.level(of: 700, in: rest) < -45)
            _ = try end(second)
        }

        /// Of ten packets one is lost, and what is said is heard. How well that is made up for is a matter of `TalkLoop`.
        @Test func lossesAreMadeUpFor() throws {
            let web = try WebBroadcast("--talkback", "on")
            let listener = try Listener(to: web.broadcast)
            let viewer = try speak(.gstreamer, in: web, "--talk", "700")
            _ = try listener.hear(1, web.sender)
            try web.network.loseFromViewers(perThousand: 100)
            try wait(until: "losses are counted") {
                try web.broadcast.talkers().first?.voice.map { 0.03...0.2 ~= $0.lossRatio } ?? false
            }
            let heard = try listener.hear(2, web.sender).clip.channel()
            #expect(SoundAnalysis.level(of: 700, in: heard) > -25)
            _ = try end(viewer)
        }

        /// Packets that are none, a thousand a second, of one who may speak and one who may not: a third one is heard as ever.
        @Test func hostileTalkersTakeNothingFromOthers() throws {
            let web = try WebBroadcast("--talkback", "ask", "--talkers", "2")
            let listener = try Listener(to: web.broadcast)
            let hostile = try speak(.aiortc, in: web, "--talk", "300", "--badly")
            let number = try web.broadcast.talker("asked")
            try web.broadcast.talk(number, "on")
            let other = try speak(.aiortc, in: web, "--talk", "300", "--badly")
            try wait(until: "both are there") { try web.broadcast.talkers().count == 2 }
            let good = try speak(.gstreamer, in: web, "--talk", "2000")
            try wait(until: "the third asks") { try web.broadcast.talkers().count { $0.talk == "asked" } == 2 }
            let third = try #require(web.broadcast.talkers().map(\.id).max())
            try web.broadcast.talk(third, "on")
            try wait(until: "it speaks") {
                try web.broadcast.talkers().contains { $0.id == third && $0.talk == "speaking" }
            }
            _ = try listener.hear(1, web.sender)
            let heard = try listener.hear(3, web.sender).clip.channel()
            #expect(SoundAnalysis.level(of: 2000, in: heard) > -25)
            #expect(web.sender.status() == nil)
            #expect(try web.broadcast.talkers().count == 3)
            for viewer in [hostile, other, good] { _ = try end(viewer) }
        }
    }
}
