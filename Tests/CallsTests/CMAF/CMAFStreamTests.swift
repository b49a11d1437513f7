import HTTP
import Media
import Motion
import TestSupport
import Testing
import Time

@testable import Calls

@Suite struct CMAFStreamTests {
    private static let epoch = 1_800_000_000.0

    /// A stream in VP9, a server that takes all, and a clock.
    private struct Scene {
        private(set) var stream: CMAFStream
        private(set) var now = Instant.seconds(10)
        /// The names of what the server has taken.
        private(set) var taken: [String] = []
        private(set) var last: [UInt8] = []
        private(set) var news: [String] = []
        private var answers: [CMAFStream.Kind] = []
        private let length: Int

        init(_ change: (inout PushSettings) -> Void = { _ in }, hasSound: Bool = false) {
            var settings = PushSettings()
            settings.segmentMs = 1000
            change(&settings)
            length = settings.segmentMs
            let rendition = Rendition(
                id: .init(0),
                codec: .vp9,
                width: 64,
                height: 64,
                framesPerSecond: 10,
                bitrate: 1_000_000
            )
            stream = CMAFStream(
                to: WebURL(parsing: "https://there/live/")!,
                settings,
                rendition,
                hasSound: hasSound,
                epoch: epoch,
                at: now
            )
        }

        /// Shows pictures for some time, ten a second, each segment with a keyframe, and their sound.
        mutating func show(_ seconds: Double, changing: Bool = false) {
            let end = now + .seconds(seconds)
            while now < end {
                if changing {
                    var change = TileChange(columns: 30, rows: 17)
                    for column in 0..<30 { change[column, 3] = true }
                    stream.take(.tiles(change, at: now), at: now)
                }
                stream.add([1], dimensions: (64, 64), at: now, isKeyframe: now >= stream.keyframeAt(now))
                for packet in 0..<5 { stream.add(sound: [2], at: now + .milliseconds(20) * packet) }
                stream.tick(at: now)
                follow()
                now += .milliseconds(100)
            }
        }

        mutating func act(_ change: (inout CMAFStream, Instant) -> Void) {
            change(&stream, now)
            follow()
        }

        private mutating func follow() {
            var outputs = stream.takeOutputs()
            while !outputs.isEmpty {
                for output in outputs {
                    switch output {
                    case .put(let put, let kind):
                        taken.append(put.item.name)
                        last = put.item.bytes
                        stream.answered(CMAFUpload.Answer(status: 201), of: kind, at: now)
                    case .stands: news.append("stands")
                    case .away: news.append("away")
                    case .clipBegan(let number, let cause): news.append("\(cause.rawValue) \(number)")
                    case .clipEnded(let number, let end): news.append("\(end.rawValue) \(number)")
                    case .expired: news.append("expired")
                    case .ended(let end): news.append("ended \(end.map { "\($0)" } ?? "")")
                    }
                }
                outputs = stream.takeOutputs()
            }
        }

        /// The seconds of the segments of a track, after the beginning.
        func seconds(_ track: String = "video") -> [Double] {
            taken.filter { $0.hasPrefix(track) && $0.hasSuffix("m4s") }.map { name in
                let number = Double(name.split(separator: "/")[1].dropLast(4))!
                return number * Double(length) / 1000 - epoch - 10
            }
        }
    }

    @Test func everythingIsPushed() {
        var scene = Scene(hasSound: true)
        scene.show(10)
        #expect(scene.taken.prefix(3).sorted() == ["audio/init.mp4", "manifest.mpd", "video/init.mp4"])
        #expect(scene.seconds() == (0..<9).map(Double.init))
        #expect(scene.seconds("audio") == (0..<9).map(Double.init))
        #expect(scene.news == ["stands"])
    }

    @Test(arguments: [500, 700, 1001, 4000, 65_500]) func segmentsHaveAnyLength(ms: Int) {
        var scene = Scene({ $0.segmentMs = ms }, hasSound: true)
        scene.show(Double(ms) * 4 / 1000)
        let expected = (0..<3).map { Double($0) }
        for track in ["video", "audio"] {
            let numbers = scene.seconds(track).map { ($0 + 10 + Self.epoch) * 1000 / Double(ms) }
            #expect(numbers.count >= 3)
            #expect(zip(numbers, expected).allSatisfy { abs($0 - numbers[0] - $1) < 0.001 }, "\(numbers)")
        }
    }

    /// A clip begins with the segment of its pre-roll, and ends with the one that holds its end, marked as the last.
    @Test(arguments: [0, 2, 5]) func onlyClipsArePushed(preRoll: Int) throws {
        var scene = Scene {
            $0.clips = ClipSettings()
            $0.clips?.sensitivity = 5
            $0.clips?.preRollS = preRoll
        }
        scene.show(20.5)
        #expect(scene.seconds() == [] && scene.news == ["stands"], "the headers are there already")
        scene.show(0.1, changing: true)
        scene.show(20)
        // Motion at 20.5 s, for 10 s.
        #expect(scene.seconds() == (20 - preRoll...30).map(Double.init))
        #expect(scene.news == ["stands", "motion 1", "quiet 1"])
        #expect(scene.last[16..<24].elementsEqual("msdhlmsg".utf8))
        // Blind for 30 s after the clip.
        scene.show(0.1, changing: true)
        scene.show(30)
        #expect(scene.news.count == 3)
        scene.show(0.1, changing: true)
        scene.show(5)
        #expect(scene.news.last == "motion 2")
    }

    /// A clip ends with a pause, and nothing from before is in the next one. Invariant: paused.
    @Test func aPauseEndsAClipAndIsInNone() {
        var scene = Scene {
            $0.clips = ClipSettings()
            $0.clips?.sensitivity = 5
            $0.clips?.blindS = 0
        }
        scene.show(20)
        scene.show(0.1, changing: true)
        scene.show(3)
        scene.act { stream, now in
            stream.pictureIsHidden(at: now)
            stream.take(.paused, at: now)
        }
        #expect(scene.news.last == "paused 1")
        let before = scene.seconds().count
        // The slate, and the screen after it, change everything.
        scene.show(0.1, changing: true)
        scene.show(4)
        scene.act { stream, now in
            stream.pictureIsHidden(at: now)
            stream.take(.paused, at: now)
        }
        scene.show(0.1, changing: true)
        scene.show(4)
        #expect(scene.news.last == "paused 1" && scene.seconds().count == before)
        scene.show(0.1, changing: true)
        scene.show(20)
        let resumed = 27.2
        #expect(scene.news.last == "quiet 2")
        #expect(scene.seconds()[before...].allSatisfy { $0 + 1 > resumed }, "\(scene.seconds())")
    }

    /// Another source is no pause: the clip goes on, without what was before.
    @Test func anotherSourceEndsNoClip() {
        var scene = Scene {
            $0.clips = ClipSettings()
            $0.clips?.sensitivity = 5
        }
        scene.show(20)
        scene.show(0.1, changing: true)
        scene.act { $0.pictureIsHidden(at: $1) }
        scene.show(20)
        #expect(scene.news == ["stands", "motion 1", "quiet 1"])
    }

    /// The first keyframe may come with the change.
    @Test func aClipMayBeginBeforeTheTracksAreKnown() {
        var scene = Scene {
            $0.clips = ClipSettings()
            $0.clips?.sensitivity = 5
        }
        scene.show(0.1, changing: true)
        scene.show(5)
        #expect(scene.news.contains("motion 1") && scene.seconds().count >= 3)
    }

    @Test func aLifetimeEnds() {
        var scene = Scene { $0.lifetimeS = 5 }
        scene.show(8)
        #expect(scene.news == ["stands", "expired", "ended "])
        #expect(scene.last[16..<24].elementsEqual("msdhlmsg".utf8))
        #expect(scene.seconds().max()! <= 5)
    }

    @Test func closingDuringAClipEndsIt() {
        var scene = Scene {
            $0.clips = ClipSettings()
            $0.clips?.sensitivity = 5
        }
        scene.show(10)
        scene.show(0.1, changing: true)
        scene.show(2.5)
        scene.act { $0.close(at: $1) }
        #expect(scene.news.suffix(1) == ["ended 1"])
        #expect(scene.last[16..<24].elementsEqual("msdhlmsg".utf8))
        scene.show(0.2)
        #expect(scene.news.last == "ended ")
    }

    /// Without a clip, the end pushes nothing.
    @Test func closingBetweenClipsPushesNothing() {
        var scene = Scene { $0.clips = ClipSettings() }
        scene.show(10)
        scene.act { $0.close(at: $1) }
        scene.show(0.2)
        #expect(scene.seconds() == [] && scene.news.last == "ended ")
    }
}
