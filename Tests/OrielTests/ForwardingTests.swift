import ArgumentParser
import Configuration
import Credentials
import Glibc
import ICE
import JSON
import Posix
import TestSupport
import Testing

@testable import oriel

/// Every option of `oriel share` is in the settings of a process, and arrives there as it was given.
@Suite struct ForwardingTests {
    /// Values of each option that takes one; several at once where it may be given again. Awkward ones among them.
    private static let values: [String: [[String]]] = [
        "--name": [["other"], ["a.b_c-1"]],
        "--dir": [["/tmp/a b"], ["-dir"], ["--name=x"], ["ü=1"]],
        "--display": [[":1"], ["host:0.1"], ["-x"]],
        "--monitor": [["HDMI-1"], ["-1"], ["--region"], ["a name, of \"two\" words"]],
        "--region": [["1x1+0+0"], ["32767x32767+32767+32767"]],
        "--window": [["0x2400007"], ["77"], ["0XFFFFFFFF"]],
        "--fps": [["1"], ["60"], ["61"], ["240"]],
        "--bridge": [["file"], ["memfd"]],
        "--size": [["32x32"], ["4096x4096"], ["1278x720"]],
        "--codec": [["auto"], ["vp8"], ["vp9"], ["av1"]],
        "--bitrate": [["30k"], ["100M"], ["123456"], ["2.5M"], ["999999.6"]],
        "--renditions": [["1"], ["3"]],
        "--keyframe-interval": [["0"], ["0.1"], ["1e-7"], ["3600"], ["3.3333333333333333"]],
        "--vp8-profile": [["0"], ["1"]],
        "--listen": [["8081"], ["127.0.0.1:80"], ["[::1]:8080"], ["host.example:443"], ["*:8080"], ["0.0.0.0:1"]],
        "--token": [["none"], ["0123456789abcdefghij"]],
        "--allow-origin": [["https://a.example"], ["http://[::1]:81", "https://b.example:8443"]],
        "--proxy": [["192.0.2.1"], ["10.0.0.0/8", "fd00::/8"]],
        "--tls-cert": [["cert.pem"], ["-c"]],
        "--tls-key": [["/a/key.pem"], ["--k"]],
        "--stun": [["stun.example"], ["stun:stun.example:3479"], ["[2001:db8::1]:3478"], ["192.0.2.7"]],
        "--turn": [["u:p@turn.example"], ["a%3Ab:p%40@[2001:db8::1]:1?transport=tcp", "turn:x:y@192.0.2.1:9"]],
        "--turn-secret-file": [["/dev/null"]],
        "--accept": [["all"], ["ask"], ["known"]],
        "--answer-timeout": [["1"], ["3600"]],
        "--talkback": [["off"], ["ask"], ["on"]],
        "--talkers": [["1"], ["4"]],
        "--as": [["Ann"], ["-- a \"b\""]],
        "--note": [["for the demo"], ["--n"]],
        "--trust": [["authority.pem"], ["--t"]],
        "--ports": [["1-1"], ["50000-50100"], ["1-65535"]],
        "--max-viewers": [["1"], ["1000"]],
        "--also": [
            ["room+http://h:1/tea%20time"],
            ["whip+https://h/a?b=c%2Fd", "rtp://192.0.2.1:5004", "janus+ws://[::1]:8188/a/2000"],
        ],
        "--whip-token-file": [["/dev/null"]], "--push-token-file": [["/dev/null"]],
        "--janus-secret-file": [["/dev/null"]],
        "--janus-token-file": [["/dev/null"]], "--janus-pin-file": [["/dev/null"]],
        "--sound": [["monitor"], ["mic"], ["mix"], ["app"], ["none"]],
        "--microphone": [["alsa_input.usb-0.mono"], ["-m"]],
        "--output": [["a sink, of \"two\" words"], ["--output"]],
        "--volume": [["0"], ["128"], ["255"]],
        "--stats": [["/tmp/stats"], ["-"], ["--stats"]],
        "--events": [["/tmp/events"], ["-"], ["--events"]],
        "--nearby": [["named"], ["paired"]],
        "--inbox": [["/"], ["/tmp"]],
        "--record": [["films"], ["/tmp/a b"], ["--record"]],
        "--segment": [["1h"], ["2G"], ["90s", "500M"]],
        "--keep": [["7d"], ["20G"], ["1m", "1T"]],
        "--reserve": [["1G"], ["500K"]],
        "--replay": [["60s"], ["1"], ["1h"]],
        "--on-change": [["low"], ["medium"], ["high"], ["7"]],
        "--zone": [["1x1+0+0"], ["10x10+5+5", "20x20+0+0"]],
        "--pre-roll": [["0"], ["60s"]],
        "--initial": [["1"], ["2m"]],
        "--augment": [["1"], ["65535"]],
        "--longest": [["1"], ["180s"]],
        "--lease": [["10"], ["5m"]],
        "--blind": [["0"], ["1h"]],
        "--on-clip": [["/bin/true"], ["true"]],
        "--allow-source": [["left=screen"], ["a=region 10x10+0+0", "b=window 0x7"]],
        "--on-message": [["/bin/true"], ["true"]],
        "--knock-chime": [["bell"], ["a b"]],
        "--on-knock": [["/bin/true"], ["true"]],
        "--knock-time": [["1"], ["60"]],
        "--status-frame": [["low"], ["medium"], ["high"], ["auto"]],
        "--legibility": [["on"], ["auto"]],
    ]
    private static let flags = [
        "--cursor", "--no-cursor", "--patches", "--no-patches", "--wake", "--no-wake", "--relay-only",
        "--viewers-record", "--viewers-control", "--viewers-see-names",
    ]
    /// Of these only one is given.
    static let choices = ["--monitor", "--region", "--window"]

    /// A new option fails here until it is tried below.
    @Test func allOptionsAreTried() {
        let lines = Share.helpMessage(columns: 100_000).split(separator: "\n").map { $0.drop { $0 == " " } }
        let names = lines.filter { $0.hasPrefix("--") }
            .flatMap { $0.prefix { $0 != " " && $0 != "," }.split(separator: "/").map(String.init) }
        #expect(
            Set(names).subtracting(["--help", "--version"])
                == Set(Self.values.keys).union(Self.flags + ["--https", "--pick"])
        )
    }

    /// What the processes of a share are started with.
    private struct Processes: Hashable {
        let texts: [String]

        /// - Throws: if settings are not read as they were handed.
        init(_ arguments: [String]) throws {
            // The token of a share that is given none is another one each time.
            let isOpen = !arguments.contains { $0.hasPrefix("--token") }
            let share = try Share.parse(arguments + (isOpen ? ["--token=none"] : []))
            texts = [
                try Self.handed(share.source.settings(of: share.broadcast)), try Self.handed(share.settings),
                try Self.handed(share.sound.settings(of: share.broadcast, share.sending.events)),
                try share.recorder.map { try Self.handed($0) } ?? "",
                try share.nearbyProcess.map { try Self.handed($0) } ?? "",
            ]
        }

        private static func handed<Settings: Codable & Equatable>(_ settings: Settings) throws -> String {
            let text = try settings.jsonLine()
            #expect(try Settings(jsonLine: text) == settings)
            return text
        }
    }

    /// Each value makes other settings than the others do.
    @Test func eachValueArrives() throws {
        var needed = ["--tls-cert": ["--tls-key=key"], "--tls-key": ["--tls-cert=certificate"]]
        for option in ["--segment", "--keep", "--reserve", "--replay", "--on-change"] {
            needed[option] = ["--record=x"]
        }
        for option in ["--zone", "--pre-roll", "--initial", "--augment", "--longest", "--blind", "--on-clip"] {
            needed[option] = ["--record=x", "--on-change=low"]
        }
        needed["--inbox"] = ["--nearby=named"]
        for (option, values) in Self.values {
            let others = needed[option] ?? []
            var seen: Set = [try Processes([])]
            if let without = try? Processes(others) { seen.insert(without) }
            for value in values {
                let processes = try Processes(others + value.map { "\(option)=\($0)" })
                // One of several may be the default.
                #expect(seen.insert(processes).inserted || values.count > 1, "\(option) \(value)")
            }
            #expect(seen.count >= values.count, "\(option)")
        }
        for flags in [Self.flags.filter { $0.hasPrefix("--no-") || $0 == "--relay-only" }, ["--https"]] {
            for flag in flags {
                let relay = ["--turn=u:p@turn.example"]
                #expect(try Processes(relay + [flag]) != Processes(relay), "\(flag)")
            }
        }
    }

    /// All options at once, until each has had all its values. Of sources only one is given.
    @Test(arguments: choices)
    func allArriveTogether(choice: String) throws {
        let options = Self.values.keys.sorted().filter { $0 == choice || !Self.choices.contains($0) }
        let most = options.map { Self.values[$0]!.count }.max()!
        for round in 0..<most {
            let arguments = options.flatMap { option in
                let values = Self.values[option]!
                return values[round % values.count].map { "\(option)=\($0)" }
            }
            _ = try Processes(arguments + Self.flags.filter { $0.hasPrefix("--no-") == round.isMultiple(of: 2) })
        }
    }

    /// "oriel attach" understands the same words in the same way.
    @Test func aSenderOfAShareIsOneThatIsAttached() throws {
        let words = [
            "--dir=/tmp/a b", "--size=640x480", "--codec=vp9", "--bitrate=800k", "--renditions=3",
            "--keyframe-interval=2",
            "--vp8-profile=1", "--no-patches", "--accept=known", "--answer-timeout=9", "--talkback=ask", "--talkers=2",
            "--listen=[::1]:8081", "--token=0123456789abcdefghij", "--turn=u:p@turn.example", "--ports=50000-50100",
            "--relay-only", "--whip-token-file=/dev/null", "--as=Ann", "--stats=/tmp/stats", "--events=-", "--no-wake",
        ]
        let share = try Share.parse(words + ["--fps=61", "--sound=mic", "--also=rtp://192.0.2.1:5004"])
        let attach = try Attach.parse(["web", "rtp://192.0.2.1:5004", "--fps=60", "--sound"] + words)
        #expect(try share.settings == attach.settings)
    }

    /// Invariant: token.
    @Test func secretsReachTheSenderAloneAndAreNotShown() throws {
        let token = "a-t0ken-0f-the-tests"
        let share = try Share.parse(["--token=\(token)", "--turn=us%3Aer:p%40ss@192.0.2.1", "--turn=me:s3cret@[::1]:1"])
        let sender = try share.settings
        let capture = try share.source.settings(of: share.broadcast).jsonLine()
        let others = try capture + share.sound.settings(of: share.broadcast, nil).jsonLine()
        for secret in [token, "p%40ss", "p@ss", "s3cret"] {
            #expect(!others.contains(secret) && !"\(sender)".contains(secret))
        }
        #expect(sender.web.token == .given(text: token))
        #expect(
            try sender.web.iceServers.turn.map { try $0.credentials(nil) } == [
                .password(username: "us:er", password: "p@ss"), .password(username: "me", password: "s3cret"),
            ]
        )
        // Chosen here, so that a sender that is started again has the same.
        guard case .given(let chosen) = try Share.parse([]).settings.web.token else {
            Issue.record("no token")
            return
        }
        #expect(chosen.utf8.count == 22)
        #expect(try Share.parse(["--token=none"]).settings.web.token == nil)
    }

    /// What stands in a file is read where it is needed, and would be of before in the settings.
    @Test func secretsInFilesAreNotHanded() throws {
        let folder = try TemporaryDirectory()
        let names = ["turn-secret", "whip-token", "janus-secret", "janus-token", "janus-pin"]
        for name in names { try FileDescriptor.open(folder.file(name), O_WRONLY | O_CREAT).write("s3cret\n") }
        let share = try Share.parse(names.map { "--\($0)-file=\(folder.file($0))" } + ["--turn=turn.example"])
        let text = try share.settings.jsonLine()
        #expect(!text.contains("s3cret"))
        for name in names { #expect(text.contains("\"path\":\"\(folder.file(name))\"")) }
    }

    @Test func iceServersAreParsedToThemselves() throws {
        var random = SplitMix(seed: 17)
        let letters: [Character] = Array("aZ09-._~:@/?#[]!$&'()*+,;=% üß漢🙂")
        func word() -> String {
            String((0..<Int.random(in: 1...12, using: &random)).map { _ in letters.randomElement(using: &random)! })
        }
        func escaped(_ text: String) -> String {
            text.utf8.map { byte in
                let isPlain = byte < 0x80 && !":@%?".utf8.contains(byte) && Bool.random(using: &random)
                let digits = String(byte, radix: 16)
                return isPlain ? String(UnicodeScalar(byte)) : "%" + (digits.count == 1 ? "0" : "") + digits
            }.joined()
        }
        let hosts = ["turn.example", "192.0.2.1", "[2001:db8::1]", "turn", "turns", "stun"]
        for _ in 0..<500 {
            // A user or a host may be called as a scheme is, which is written then.
            let (user, password) = (["turn", "turns", word()].randomElement(using: &random)!, word())
            let place = hosts.randomElement(using: &random)! + ["", ":1", ":65535"].randomElement(using: &random)!
            let end = ["", "?transport=udp", "?transport=tcp"].randomElement(using: &random)!
            let scheme = ["turn:", end.hasSuffix("udp") ? "turn:" : "turns:", user.hasPrefix("turn") ? "turn:" : ""]
                .randomElement(using: &random)!
            let turn = try TURNServer(spelling: "\(scheme)\(escaped(user)):\(escaped(password))@\(place)\(end)")
            #expect(try turn.credentials(TURNSecret("secret")) == .password(username: user, password: password))
            #expect(try TURNServer(spelling: turn.spelling) == turn)
            let stun = try STUNServer(spelling: "stun:\(place)")
            #expect(try STUNServer(spelling: stun.spelling) == stun)
        }
    }
}
