import FoundationEssentials
import Glibc
import Helpers
import Media
import Posix
import TestSupport
import Testing
import Time
import WebRTC

@testable import Access
@testable import Calls
@testable import HTTP
@testable import Publishing

@Suite struct EventLogTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func lines(_ path: String) throws -> [[String: String]] {
        let file = try FileDescriptor.open(path, O_RDONLY)
        let text = String(decoding: try file.readBytes(1 << 20), as: UTF8.self)
        #expect(text.hasSuffix("\n"))
        return try text.split(separator: "\n").map { line in
            struct Line: Decodable {
                var fields: [String: String] = [:]

                init(from decoder: any Decoder) throws {
                    let container = try decoder.container(keyedBy: Key.self)
                    for key in container.allKeys {
                        fields[key.stringValue] =
                            try (try? container.decode(Int.self, forKey: key)).map { "\($0)" }
                            ?? (try? container.decode([String].self, forKey: key))?.joined(separator: ", ")
                            ?? container.decode(String.self, forKey: key)
                    }
                }
            }
            return try JSONDecoder().decode(Line.self, from: Data(line.utf8)).fields
        }
    }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Each event of each kind of call, by what programs find in its line.
    @Test func eachEventIsALine() throws {
        let room = try CallKinds.own.plan("room+https://h.example/tea")
        let whip = try CallKinds.own.plan("whip+https://h.example/whip")
        let plain = try CallKinds.own.plan("rtp://192.0.2.1:5004")
        let knocker = Knocker(name: "Ann\u{1B}", note: "hi", key: nil, address: "192.0.2.9")
        let knock = Knock(number: 7, since: .start, knocker: knocker)
        typealias Participant = CallReport.Participant
        let viewer = Calls.Participant(id: 3, call: "web", name: "Ann", place: "::1", since: .start)
        let viewed = ["call": "web", "id": "3", "name": "Ann", "address": "::1"]
        let asked = ["call": "web", "id": "7", "name": "Ann\u{1B}", "note": "hi", "address": "192.0.2.9"]
        let events: [(CallEvent, [String: String])] = [
            (CallEvent(CallReport(.standing(nil)), in: .web), ["event": "call_joined", "call": "web"]),
            (CallEvent(.paused), ["event": "broadcast", "state": "paused"]),
            (CallEvent(.sourceLost), ["event": "broadcast", "state": "source_lost"]),
            (
                CallEvent(NamedFiles.End(files: ["c.pem", "k.pem"], sentence: "it has ended")),
                ["event": "renewal_ended", "files": "c.pem, k.pem", "text": "it has ended"]
            ),
            (CallEvent(.knocked(knock)), asked.merging(["event": "knocked"]) { $1 }),
            (CallEvent(.answered(knock, .accepted)), asked.merging(["event": "accepted"]) { $1 }),
            (CallEvent(.answered(knock, .rejected)), asked.merging(["event": "rejected"]) { $1 }),
            (CallEvent(.answered(knock, .noAnswer)), asked.merging(["event": "no_answer"]) { $1 }),
            (CallEvent(.answered(knock, .cancelled)), asked.merging(["event": "cancelled"]) { $1 }),
            (
                CallEvent(.joined(viewer, .av1), in: .web),
                viewed.merging([
                    "event": "peer_joined", "codec": "av1", "text": #"viewer 3 ("Ann") looks in from ::1, AV1"#,
                ]) { $1 }
            ),
            (
                CallEvent(.joined(viewer, nil), in: .web),
                viewed.merging(["event": "peer_joined", "text": #"viewer 3 ("Ann") listens from ::1"#]) { $1 }
            ),
            (
                CallEvent(.left(viewer, "left", .hungUp), in: .web),
                viewed.merging(["event": "peer_left", "reason": "hung_up"]) { $1 }
            ),
            (
                CallEvent(.talk(3, .asked), in: "web", name: "Ann"),
                ["event": "talk_asked", "call": "web", "id": "3", "name": "Ann"]
            ),
            (
                CallEvent(.talk(3, .granted), in: "\(room)", name: ""),
                ["event": "talk_granted", "call": "\(room)", "id": "3"]
            ),
            (CallEvent(.talk(3, .revoked), in: "web", name: ""), ["event": "talk_revoked", "call": "web", "id": "3"]),
            (CallEvent(.talk(3, .started(isNews: true)), in: nil, name: ""), ["event": "talk_started", "id": "3"]),
            (CallEvent(.talk(3, .started(isNews: false)), in: "web", name: ""), ["event": "talk_started", "id": "3"]),
            (CallEvent(.talk(3, .ended), in: "web", name: ""), ["event": "talk_ended", "id": "3"]),
            (CallEvent(.ended(nil), in: .web), ["event": "call_ended", "call": "web", "reason": "ended"]),
            (
                CallEvent(CallReport(.standing(nil), "sending"), in: plain),
                ["event": "call_joined", "call": "rtp://192.0.2.1:5004", "text": "sending"]
            ),
            (CallEvent(CallReport(.standing(nil), "in it"), in: room), ["event": "call_joined", "call": "\(room)"]),
            (
                CallEvent(CallReport(.away(why: "gone", isNews: true), "it is gone"), in: room),
                ["event": "call_lost", "call": "\(room)", "reason": "lost"]
            ),
            (
                CallEvent(CallReport(.joined(Participant(id: 4), nil), "it is there"), in: room),
                ["event": "peer_joined", "call": "\(room)", "id": "4"]
            ),
            (
                CallEvent(CallReport(.left(Participant(id: 4), .hungUp)), in: room),
                ["event": "peer_left", "reason": "hung_up", "id": "4"]
            ),
            (
                CallEvent(CallReport(.left(Participant(), .noAnswer)), in: room),
                ["event": "peer_left", "reason": "no_answer"]
            ),
            (
                CallEvent(CallReport(.refused(Participant(), .busy)), in: room),
                ["event": "refused", "call": "\(room)", "reason": "busy"]
            ),
            (
                CallEvent(.turnedAway(from: "::1", "Ann", .full(limit: 50)), in: .web),
                ["event": "refused", "call": "web", "reason": "busy", "address": "::1", "name": "Ann"]
            ),
            (
                CallEvent(.turnedAway(from: "::1", "Ann", .noRelay), in: .web),
                ["event": "refused", "call": "web", "reason": "no_relay", "address": "::1", "name": "Ann"]
            ),
            (
                CallEvent(.turnedAway(address: "192.0.2.9", call: "web")),
                ["event": "refused", "call": "web", "reason": "busy", "address": "192.0.2.9"]
            ),
            (
                CallEvent(.ended(CallEnd(.tryAgain, "it is full")), in: room),
                ["event": "call_ended", "call": "\(room)", "reason": "busy", "text": "it is full"]
            ),
            (
                CallEvent(CallReport(.standing(.vp9)), in: whip),
                ["event": "call_joined", "call": "\(whip)", "codec": "vp9"]
            ),
        ]
        let log = try EventLog(path: folder.file("events"))
        try log.begin()
        for (event, _) in events { log.tell(event) }
        log.tell(CallEvent(CallReport(.remark, "what means nothing"), in: room))
        log.tell(CallEvent(CallReport(.away(why: "lost otherwise", isNews: false)), in: whip))
        log.close()
        let lines = try lines(folder.file("events"))
        #expect(lines.count == events.count)
        for ((event, fields), line) in zip(events, lines) {
            let expected = fields.merging(event.sentence.map { ["text": $0] } ?? [:]) { text, _ in text }
            #expect(line.filter { expected.keys.contains($0.key) } == expected)
            #expect(Set(line.keys).subtracting(expected.keys).isSubset(of: ["time", "call"]))
            #expect(try #/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/#.wholeMatch(in: line["time"] ?? "") != nil)
        }
    }

    /// People are told who speaks, and how to let somebody.
    @Test func peopleAreToldOfTalkers() {
        let asked = CallEvent(.talk(3, .asked), in: "web", name: "Ann").sentence
        #expect(asked == #"viewer 3 ("Ann") asks to speak: "oriel talk 3 on" lets it"#)
        let room = CallEvent(.talk(4, .started(isNews: true)), in: "room+https://h/tea", name: "").sentence
        #expect(room == "room+https://h/tea: viewer 4 speaks")
        #expect(CallEvent(.talk(4, .started(isNews: false)), in: "web", name: "").sentence == nil)
        #expect(CallEvent(.talk(4, .ended), in: "web", name: "").sentence == nil)
    }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z"), (951_827_696_789_999_999, "2000-02-29T12:34:56.789Z"),
        (4_102_444_799_007_000_000, "2099-12-31T23:59:59.007Z"),
    ])
    func timesAreThoseOfTheInternet(nanoseconds: UInt64, text: String) {
        #expect(internetTime(nanosecondsSince1970: nanoseconds) == text)
    }

    /// What was told before the log began, or while there was no reader, is there when one comes.
    @Test func aPipeNeedsNoReader() throws {
        let path = folder.file("pipe")
        mkfifo(path, 0o600)
        let log = try EventLog(path: path)
        let many = 5000
        for number in 1...many {
            if number == 500 { try log.begin() }
            log.tell(CallEvent(CallReport(.standing(nil)), in: .web))
        }
        log.tell(CallEvent(.paused))
        let pipe = try FileDescriptor.open(path, O_RDONLY | O_NONBLOCK)
        var (bytes, chunk) = ([UInt8](), [UInt8](repeating: 0, count: 65536))
        try wait(until: "a line for what there was room for") {
            while let count = try chunk.withUnsafeMutableBytes({ try readAvailable(from: pipe.raw, into: $0) }) {
                bytes += chunk[..<count]
            }
            return bytes.count { $0 == UInt8(ascii: "\n") } >= 1000
        }
        log.close()
    }

    /// As on a full disk.
    @Test func aFullDiskLosesLinesAndNothingElse() throws {
        let log = try EventLog(path: "/dev/full")
        try log.begin()
        for _ in 0..<100 { log.tell(CallEvent(.active)) }
        log.close()
    }

    @Test func whatCannotBeOpenedIsASentence() {
        #expect(throws: Failure.self) { try EventLog(path: folder.file("none/events")) }
        #expect(throws: Failure.self) { try EventLog(path: folder.path) }
    }
}
