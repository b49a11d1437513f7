import Control
import HTTP
import JSON
import Media
import Synchronization
import TestSupport
import Testing

@testable import Calls

/// The recorders by HTTP, beside one that stands for a real one.
@Suite struct RecorderEndpointTests {
    private let web: WebFixture
    private let recorder = Recorder()
    private let path: String

    /// Answers as a recorder does.
    private final class Recorder: Sendable {
        private struct State {
            var snapshot = RecorderSnapshot(pid: 7, state: .armed, folder: "/films")
            var asked: [RecorderRequest] = []
            var refusal: RecorderRefusal?
        }

        private let state: Mutex<State>

        init() {
            var state = State()
            state.snapshot.clips = ClipSettings()
            state.snapshot.replayS = 60
            self.state = Mutex(state)
        }

        var asked: [RecorderRequest] { state.withLock(\.asked) }

        func refuse(_ refusal: RecorderRefusal?) { state.withLock { $0.refusal = refusal } }

        func answer(_ request: RecorderRequest) -> FeedAnswer {
            state.withLock { state in
                state.asked.append(request)
                var refusal = state.refusal
                if refusal == nil, case .change(let clips, let version) = request {
                    if version == state.snapshot.version {
                        (state.snapshot.clips, state.snapshot.version) = (clips, state.snapshot.version + 1)
                    } else {
                        refusal = .changed
                    }
                }
                return FeedAnswer(to: 1, refusal, by: state.snapshot)
            }
        }
    }

    init() throws {
        web = try WebFixture(viewersRecord: true)
        let number = web.recorders.add { [recorder] request, completion in completion(recorder.answer(request)) }
        path = "/api/recorders/\(try #require(number))"
    }

    private static let settings = #"""
        {"clips":{"augment_s":5,"blind_s":30,"initial_s":10,"longest_s":30,"pre_roll_s":5,"sensitivity":5,\#
        "zones":[{"height":100,"width":200,"x":0,"y":10}]}}
        """#

    private func put(_ body: String, _ condition: String? = "\"7-1\"") throws -> ReceivedResponse {
        try web.request("PUT", path, condition.map { ["If-Match: \($0)"] } ?? [], body: body)
    }

    @Test func recordersAreListedWithoutPaths() throws {
        let document = #"""
            {"bytes":0,"clips":{"augment_s":5,"blind_s":30,"initial_s":10,"longest_s":30,"pre_roll_s":5,"zones":[]},"id":0,\#
            "length_s":0,"muted":false,"replay_s":60,"state":"armed"}
            """#
        let list = try web.request("GET", "/api/recorders")
        #expect(list.status == 200 && list["content-type"] == "application/json")
        #expect(list.text == "[\(document)]\n")
        let one = try web.request("GET", path)
        #expect(one.text == "\(document)\n" && one["etag"] == "\"7-1\"")
        web.recorders.remove(0)
        #expect(try web.request("GET", "/api/recorders").text == "[]\n")
        #expect(try web.request("GET", path).status == 404)
    }

    @Test func oneThatDoesNotAnswerMayDoSoLater() throws {
        let number = try #require(web.recorders.add { _, completion in completion(nil) })
        let answer = try web.request("GET", "/api/recorders/\(number)")
        #expect(answer.status == 503 && answer["oriel-reason"] == "silent" && answer["retry-after"] == "1")
        #expect(try web.request("GET", "/api/recorders").text.hasPrefix("[{"), "the other one is listed")
    }

    @Test func settingsAreChangedWhole() throws {
        let changed = try put(Self.settings)
        #expect(changed.status == 200 && changed["etag"] == "\"7-2\"", "\(changed.text)")
        var clips = ClipSettings()
        clips.sensitivity = 5
        clips.zones = [ClipSettings.Zone(x: 0, y: 10, width: 200, height: 100)]
        #expect(recorder.asked == [.status, .change(clips: clips, version: 1)])
        #expect(try put(#"{"clips":null}"#, "\"7-2\"").status == 200)
        #expect(recorder.asked.last == .change(clips: nil, version: 2))
    }

    @Test func aChangeNeedsTheVersionThatWasRead() throws {
        #expect(try put(Self.settings, nil).status == 428)
        for wrong in ["\"7-2\"", "\"8-1\"", "*", "7-1", "W/\"7-1\"", "\"\"", "\"x\"", "\"7\"", "\"7-1-1\"", ""] {
            let refused = try put(Self.settings, wrong)
            #expect(refused.status == 412, "\(wrong)")
            #expect(refused["oriel-reason"] == "changed")
        }
        #expect(try put(Self.settings).status == 200)
        #expect(try put(Self.settings).status == 412, "it was changed meanwhile")
    }

    /// Each field below and above its range, of another type, missing, twice, and one that nobody knows.
    @Test func whatIsOutOfRangeIsRefusedWhole() throws {
        func change(_ field: String, _ value: String) -> String {
            let start = Self.settings.firstRange(of: "\"\(field)\":")!.upperBound
            let end = Self.settings[start...].firstIndex { $0 == "," || $0 == "}" }!
            return Self.settings[..<start] + value + Self.settings[end...]
        }
        let fields: [(name: String, values: [String])] = [
            ("sensitivity", ["0", "11", "-1"]), ("initial_s", ["0", "65536"]), ("augment_s", ["0", "65536"]),
            ("longest_s", ["0", "1000001"]), ("blind_s", ["-1", "65536"]), ("pre_roll_s", ["-1", "61"]),
            ("x", ["-1", "16385"]), ("y", ["-1", "16385"]), ("width", ["0", "16385"]), ("height", ["0", "16385"]),
        ]
        for (name, values) in fields {
            for value in values + ["1.5", "1e1", "\"5\"", "true", "[]", "9223372036854775808", "{}"] {
                let refused = try put(change(name, value))
                #expect(refused.status == 422, "\(name) \(value): \(refused.text)")
                #expect(refused.text.contains(name) && refused["oriel-reason"] == "field", "\(refused.text)")
            }
            let missing = Self.settings.replacing("\"\(name)\":", with: "\"other\":")
            #expect(try put(missing).status == 422)
            let twice = Self.settings.replacing("\"\(name)\":", with: "\"\(name)\":7,\"\(name)\":")
            #expect(try put(twice).text.contains("twice"))
        }
        let zone = #"{"height":100,"width":200,"x":0,"y":10}"#
        let many = (0..<33).map { #"{"height":\#($0 + 1),"width":1,"x":0,"y":0}"# }.joined(separator: ",")
        for zones in ["[\(zone),\(zone)]", "[\(many)]", "null", "{}", "[1]", "[null]"] {
            let refused = try put(Self.settings.replacing("[\(zone)]", with: zones))
            #expect(refused.status == 422 && refused.text.contains("zones"), "\(zones): \(refused.text)")
        }
        let deep = String(repeating: "[", count: 5000)
        for body in [
            "", "null", "[]", "{}", "x", "{\"clips\":{}}", "{\"clips\":1}", "{\"clips\":null,\"speed\":1}", deep,
        ] {
            #expect(try put(body).status == 422, "\(body.prefix(40))")
        }
        #expect(try put(change("sensitivity", "null")).text.contains("zones are for motion"))
        #expect(try put(String(repeating: " ", count: 9000)).status == 413)
        #expect(recorder.asked == [])
    }

    @Test func clipsAndReplaysAreAskedFor() throws {
        #expect(try web.request("POST", path + "/trigger").status == 200)
        #expect(try web.request("POST", path + "/replay").status == 200)
        #expect(try web.request("POST", path + "/replay", body: #"{"seconds":20}"#).status == 200)
        for wrong in [
            "{\"seconds\":0}", "{\"seconds\":3601}", "{\"seconds\":\"1\"}", "20", "x", "{}", "{\"second\":5}",
        ] {
            #expect(try web.request("POST", path + "/replay", body: wrong).status == 422, "\(wrong)")
        }
        #expect(recorder.asked == [.trigger, .replay(seconds: nil), .replay(seconds: 20)])
    }

    @Test(arguments: [
        (RecorderRefusal.busy, 409), (.off, 409), (.paused, 409), (.empty, 409), (.recordsAll, 409),
        (.keepsNothing, 409), (.tooOften, 429), (.unwritable, 507), (.changed, 412), (.forbidden, 403), (.field, 422),
    ])
    func aRefusalHasItsName(refusal: RecorderRefusal, status: Int) throws {
        recorder.refuse(refusal)
        let answer = try web.request("POST", path + "/trigger")
        #expect(answer.status == status && answer["oriel-reason"] == refusal.rawValue)
        #expect(answer.text == refusal.fact + "\n")
    }

    @Test(arguments: ["0", "00", "-1", "+0", "1/", "0/x", "0/trigger/", "99999999999999999999", "", "0/../0"])
    func otherPathsAreNotThere(tail: String) throws {
        let answer = try web.request("GET", "/api/recorders/" + tail)
        #expect(answer.status == (tail == "0" ? 200 : 404))
    }

    @Test func nobodyElseMay() throws {
        let others = try WebFixture()
        _ = others.recorders.add { [recorder] request, completion in completion(recorder.answer(request)) }
        for (method, tail) in [
            ("GET", ""), ("GET", "/0"), ("PUT", "/0"), ("POST", "/0/trigger"), ("POST", "/0/replay"),
        ] {
            let refused = try others.request(method, "/api/recorders" + tail)
            #expect(refused.status == 403 && refused["oriel-reason"] == "right")
        }
        #expect(try web.connect().request("GET", "/api/recorders").status == 401)
        #expect(recorder.asked == [])
    }
}
