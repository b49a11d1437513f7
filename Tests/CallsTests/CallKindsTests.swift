import TestSupport
import Testing

@testable import Calls

/// Calls by their names.
@Suite struct CallKindsTests {
    private let kinds = CallKinds([.web(), .room(), .whip, .janus, .cmaf, .plainRTP()])

    @Test func theFormsAreToldInASentence() {
        #expect(
            kinds.forms
                == "web, room+https://HOST/ROOM, whip+https://HOST/PATH, janus+ws://HOST:PORT/ROOM, "
                + "cmaf+https://HOST/PATH/, or rtp://HOST:PORT"
        )
    }

    @Test(arguments: [
        ("web", "web"), ("room+https://h.example/tea", "room"), ("ROOM+http://h:1/tea", "room"),
        ("whip+https://h/x?key=1", "whip"), ("Janus+WS://h:8188/1234", "janus"), ("rtp://[::1]:5004", "rtp"),
        ("CMAF+https://h:1/live/", "cmaf"),
        ("RTP://h:5004", "rtp"),
    ])
    func eachFormIsACall(text: String, kind: String) throws { #expect(try kinds.plan(text).kind == kind) }

    @Test(arguments: [
        ("", " is no call: write web, room+"), ("Web", "Web is no call"),
        ("ftp://h/x", "ftp://h/x is no call: write web"),
        (
            "https://h/s3cr3t",
            "a web address alone is no call: write whip+ before a media server's, room+ before a room's"
        ),
        ("HTTP://h", "a web address alone"), ("room+ftp://h/x", "is not a room"), ("janus+ws://h", "names no room"),
        ("whip+https://u:s3cr3t@h/x", "that is no endpoint of WHIP: write whip+https://HOST/PATH, and no login in it"),
        ("cmaf+https://h/s3cr3t", "with a slash at the end"), ("cmaf+ftp://h/", "that is no place for segments"),
        ("rtp://h", "names no port"), (String(repeating: "x", count: 2001), "2000 characters at the most"),
    ])
    func whatIsNoCallIsToldWithoutSecrets(text: String, words: String) {
        let error = #expect(throws: (any Error).self) { try kinds.plan(text) }
        let sentence = error.map { "\($0)" } ?? ""
        #expect(sentence.contains(words) && !sentence.contains("s3cr3t"))
    }

    /// Whatever is written, the argument names the same call again, and no name has what may be secret.
    @Test func argumentsNameTheSameCall() throws {
        var random = SplitMix(seed: 38)
        func pick(_ words: [String]) -> String { words.randomElement(using: &random) ?? "" }
        let plans = try (0..<300).map { _ in
            let host = pick(["h", "h.example", "192.0.2.1", "[::1]"])
            let port = pick(["", ":1", ":8443"])
            return try kinds.plan(
                pick([
                    "web", "room+\(pick(["http", "https"]))://\(host)\(port)/\(pick(["tea", "a%20b"]))",
                    "whip+\(pick(["http", "https"]))://\(host)\(port)/\(pick(["", "x", "x/y"]))\(pick(["", "?key=s3cr3t"]))",
                    "janus+\(pick(["ws", "wss"]))://\(host)\(port)/\(pick(["", "proxy/"]))\(pick(["1", "a%2Fb"]))",
                    "cmaf+\(pick(["http", "https"]))://\(host)\(port)/\(pick(["", "live/", "live/s3cr3t/"]))",
                    "rtp://\(host)\(port.isEmpty ? ":5004" : port)",
                ])
            )
        }
        for plan in plans {
            let again = try kinds.plan(plan.argument)
            #expect(again == plan && again.argument == plan.argument && again.description == plan.description)
            #expect(again.kind == plan.kind && again.server == plan.server && !"\(plan)".contains("s3cr3t"))
        }
        for (one, other) in zip(plans, plans.dropFirst()) {
            #expect((one == other) == (one.argument == other.argument))
        }
    }

    @Test func onlyOneThatRunsTheServerBeginsIt() throws {
        let plan = try kinds.plan("web")
        for isOfStart in [true, false] {
            var settings = CallSettings()
            settings.isOfStart = isOfStart
            let error = #expect(throws: CallEnd.self) { _ = try plan.prepare(settings) }
            #expect(error?.description.hasSuffix("attach another with \"oriel attach web\"") ?? false)
        }
        #expect(plan.refusalToLeave != nil && plan.listens)
    }
}
