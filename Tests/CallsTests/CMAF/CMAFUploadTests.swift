import HTTP
import TestSupport
import Testing
import Time

@testable import Calls

@Suite struct CMAFUploadTests {
    private static let headers = ["manifest.mpd", "video/init.mp4"]

    /// An upload, and the server's view of it.
    private struct Scene {
        var upload: CMAFUpload
        var now = Instant.seconds(100)
        /// What the server has taken.
        private(set) var taken: [String] = []
        private(set) var news: [String] = []
        /// The request that waits for an answer.
        private(set) var asked: String?
        private(set) var url = ""

        init(keeping most: Double? = nil) {
            upload = CMAFUpload(
                headers.map { CMAFUpload.Item(name: $0, bytes: [1]) },
                to: WebURL(parsing: "https://there/live/")!,
                keeping: most
            )
            follow()
        }

        mutating func add(_ number: Int, bytes: [UInt8] = [2]) {
            upload.add(CMAFUpload.Item(name: "video/\(number).m4s", bytes: bytes))
            follow()
        }

        mutating func answer(_ status: Int, location: String? = nil) {
            if let asked, status < 300 { taken.append(asked) }
            asked = nil
            upload.answered(CMAFUpload.Answer(status: status, location: location), at: now)
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
                case .put(let put):
                    #expect(asked == nil, "one at a time")
                    (asked, url) = (put.item.name, "\(put.url)")
                case .standing: news.append("standing")
                case .away: news.append("away")
                case .ended(let end): news.append("\(end.kind)")
                }
            }
        }
    }

    @Test func headersComeFirst() {
        var scene = Scene()
        #expect(scene.url == "https://there:443/live/manifest.mpd", "before there is a segment")
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

    @Test(arguments: [401, 403, 404]) func aRefusalIsTriedTwiceMore(status: Int) {
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

    @Test(arguments: [300, 303, 304, 405, 415, 400]) func whatAServerDoesNotTakeEndsTheCall(status: Int) {
        var scene = Scene()
        scene.add(1)
        scene.answer(status)
        #expect(scene.news == ["failed"])
    }

    /// What a server redirects to gets the following requests too, until it fails.
    @Test(arguments: [301, 302, 307, 308]) func aRedirectIsFollowed(status: Int) {
        var scene = Scene()
        scene.answer(status, location: "https://edge:8443/a/manifest.mpd")
        #expect(scene.url == "https://edge:8443/a/manifest.mpd")
        scene.answer(201)
        #expect(scene.url == "https://edge:8443/a/video/init.mp4")
        scene.fail()
        scene.wait(10)
        #expect(scene.url == "https://there:443/live/manifest.mpd")
        scene.answer(status, location: "/other?name=manifest.mpd")
        #expect(scene.url == "https://there:443/other?name=manifest.mpd")
        scene.answer(201)
        #expect(scene.url == "https://there:443/live/video/init.mp4", "it says nothing of other names")
        scene.answerAll()
        #expect(scene.news == ["standing", "away", "standing"])
    }

    @Test(arguments: [nil, "http://there/live/manifest.mpd", "ftp://x/", "https://user@x/"])
    func aRedirectToNowhereEndsTheCall(location: String?) {
        var scene = Scene()
        scene.answer(307, location: location)
        #expect(scene.news == ["failed"] && scene.asked == nil)
    }

    @Test func redirectsEnd() {
        var scene = Scene()
        for _ in 0..<5 {
            scene.answer(308, location: "manifest.mpd")
            #expect(scene.asked == "manifest.mpd")
        }
        scene.answer(308, location: "manifest.mpd")
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

    /// Of clips everything waits that a server may want later.
    @Test func clipsWaitForTheServer() {
        var scene = Scene(keeping: 20)
        scene.answerAll()
        for number in 1...15 {
            scene.add(number)
            if scene.asked != nil { scene.fail() }
            scene.wait(1)
        }
        scene.wait(10)
        scene.answerAll()
        #expect(scene.taken.filter { $0.hasSuffix("m4s") } == (1...15).map { "video/\($0).m4s" })
    }

    /// 20 MiB each: three fit into the memory for them.
    @Test func longClipsDoNotFillTheMemory() {
        var scene = Scene(keeping: 20)
        scene.answerAll()
        for number in 1...9 {
            scene.add(number, bytes: [UInt8](repeating: 2, count: 20 << 20))
            if scene.asked != nil { scene.fail() }
        }
        for _ in 0..<20 {
            scene.wait(5)
            scene.answerAll()
        }
        #expect(scene.taken.filter { $0.hasSuffix("m4s") } == (7...9).map { "video/\($0).m4s" })
    }

    /// Invariant: paused.
    @Test func whatIsForgottenIsRedirectedNoMore() {
        var scene = Scene()
        scene.answerAll()
        scene.add(1)
        #expect(scene.asked == "video/1.m4s")
        scene.upload.forget()
        scene.answer(307, location: "https://edge/live/video/1.m4s")
        #expect(scene.asked == nil)
        scene.add(2)
        #expect(scene.url == "https://edge:443/live/video/2.m4s")
    }

    @Test func aPathOfTwoSlashesIsNoHost() {
        var scene = Scene()
        scene.answer(307, location: "https://edge//live/manifest.mpd")
        scene.answer(201)
        #expect(scene.url == "https://edge:443//live/video/init.mp4")
    }

    /// Whatever it answers: no crash, one request at a time, and no more waits than segments.
    @Test(arguments: 0..<50) func anyServerIsSurvived(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var scene = Scene()
        for number in 0..<300 {
            switch Int.random(in: 0..<4, using: &random) {
            case 0: scene.add(number)
            case 1 where scene.asked != nil:
                let status = [200, 201, 204, 307, 400, 403, 408, 412, 500, 503].randomElement(using: &random)!
                scene.answer(
                    status,
                    location: ["https://edge/\(scene.asked!)", "x", nil].randomElement(using: &random)!
                )
            case 2 where scene.asked != nil: scene.fail()
            default: scene.wait(.random(in: 0...5, using: &random))
            }
        }
    }
}
