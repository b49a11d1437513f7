import TestSupport
import Testing
import Time

@testable import Calls

@Suite struct CMAFUploadTests {
    private static let headers = ["manifest.mpd", "video/init.mp4"]

    /// An upload, and the server's view of it.
    private struct Scene {
        var upload = CMAFUpload(headers.map { CMAFUpload.Item(name: $0, bytes: [1]) })
        var now = Instant.seconds(100)
        /// What the server has taken.
        private(set) var taken: [String] = []
        private(set) var news: [String] = []
        /// The request that waits for an answer.
        private(set) var asked: String?

        mutating func add(_ number: Int) {
            upload.add(CMAFUpload.Item(name: "video/\(number).m4s", bytes: [2]))
            follow()
        }

        mutating func answer(_ status: Int) {
            if let asked, status < 300 { taken.append(asked) }
            asked = nil
            upload.answered(status, retryAfter: nil, server: "there", at: now)
            follow()
        }

        mutating func fail() {
            asked = nil
            upload.failed("cannot reach there", at: now)
            follow()
        }

        /// Answers all requests.
        mutating func answerAll(_ status: Int = 201) {
            for _ in 0..<100 where asked != nil { answer(status) }
        }

        mutating func wait(_ seconds: Double) {
            let end = now + .seconds(seconds)
            while asked == nil, let deadline = upload.deadline, deadline <= end {
                now = max(now, deadline)
                upload.tick(at: now)
                follow()
            }
            now = end
        }

        private mutating func follow() {
            for output in upload.takeOutputs() {
                switch output {
                case .put(let item):
                    #expect(asked == nil, "one at a time")
                    asked = item.name
                case .standing: news.append("standing")
                case .away: news.append("away")
                case .ended(let end): news.append("\(end.kind)")
                }
            }
        }
    }

    @Test func headersComeFirst() {
        var scene = Scene()
        #expect(scene.asked == nil)
        scene.add(1)
        scene.add(2)
        scene.answerAll()
        #expect(scene.taken == Self.headers + ["video/1.m4s", "video/2.m4s"])
        #expect(scene.news == ["standing"])
        #expect(scene.upload.isDone)
    }

    /// The server has lost them.
    @Test func headersAreSentAgain() {
        var scene = Scene()
        scene.add(1)
        scene.answerAll()
        scene.add(2)
        scene.answer(412)
        scene.answerAll()
        #expect(scene.taken.suffix(3) == Self.headers + ["video/2.m4s"])
        #expect(scene.news == ["standing"])
    }

    /// One that takes headers, and wants them again for each segment, is not asked without end.
    @Test func headersThatAreForgottenAtOnceAreSentAtLeisure() {
        var scene = Scene()
        scene.add(1)
        var requests = 0
        let end = scene.now + .seconds(60)
        while scene.now < end {
            if let asked = scene.asked {
                requests += 1
                scene.answer(asked.hasSuffix("m4s") ? 412 : 201)
            } else {
                scene.wait(1)
            }
        }
        #expect(requests < 100 && scene.news.contains("away"), "\(requests)")
    }

    /// After a short outage all comes, with the headers again; after a long one the live edge.
    @Test(arguments: [(3, [2, 3, 4]), (4, [5]), (8, [9])]) func anOutageLosesWhatTheRulesSay(missed: Int, sent: [Int]) {
        var scene = Scene()
        scene.add(1)
        scene.answerAll()
        for number in 2..<2 + missed {
            scene.add(number)
            if scene.asked != nil { scene.fail() }
            scene.wait(4)
            if scene.asked != nil { scene.fail() }
        }
        scene.wait(10)
        scene.answerAll()
        let segments = scene.taken.filter { $0.hasSuffix("m4s") }.dropFirst()
        #expect(Array(segments) == sent.map { "video/\($0).m4s" })
        #expect(scene.taken.count { $0 == "video/init.mp4" } == 2)
        #expect(scene.news.first == "standing" && scene.news.last == "standing" && scene.news.contains("away"))
    }

    @Test func aServerThatIsBusyIsAskedAgain() {
        var scene = Scene()
        scene.add(1)
        for status in [500, 503, 429, 408] {
            scene.answer(status)
            scene.wait(10)
        }
        scene.answerAll()
        #expect(scene.taken == Self.headers + ["video/1.m4s"])
    }

    @Test(arguments: [403, 404]) func aRefusalIsTriedTwiceMore(status: Int) {
        var scene = Scene()
        scene.add(1)
        for _ in 0..<3 {
            scene.answer(status)
            scene.wait(10)
        }
        #expect(scene.news == ["away", "away", "refused"])
        scene.add(2)
        #expect(scene.asked == nil && scene.upload.isDone)
    }

    @Test(arguments: [301, 401, 405, 415, 400]) func whatAServerDoesNotTakeEndsTheCall(status: Int) {
        var scene = Scene()
        scene.add(1)
        scene.answer(status)
        #expect(scene.news == ["failed"])
    }

    @Test func aSegmentThatCannotBeReadIsLeftOut() {
        var scene = Scene()
        scene.add(1)
        scene.answerAll()
        scene.add(2)
        scene.answer(400)
        scene.add(3)
        scene.answerAll()
        #expect(scene.taken.last == "video/3.m4s" && !scene.taken.contains("video/2.m4s"))
    }

    /// Invariant: paused.
    @Test func whatIsForgottenIsNotSent() {
        var scene = Scene()
        scene.add(1)
        scene.answerAll()
        scene.add(2)
        scene.add(3)
        scene.upload.forget()
        scene.answerAll()
        scene.add(4)
        scene.answerAll()
        #expect(!scene.taken.contains("video/3.m4s") && scene.taken.last == "video/4.m4s")
    }

    /// Whatever it answers: no crash, one request at a time, and no more waits than segments.
    @Test(arguments: 0..<50) func anyServerIsSurvived(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var scene = Scene()
        for number in 0..<300 {
            switch Int.random(in: 0..<4, using: &random) {
            case 0: scene.add(number)
            case 1 where scene.asked != nil:
                scene.answer([200, 201, 204, 400, 403, 408, 412, 500, 503].randomElement(using: &random)!)
            case 2 where scene.asked != nil: scene.fail()
            default: scene.wait(.random(in: 0...5, using: &random))
            }
        }
    }
}
