import ArgumentParser
import Calls
import Glibc
import ICE
import Posix
import TestSupport
import Testing

@testable import oriel

/// Every option of `oriel share` reaches the process that it is for: what its arguments are parsed to there is what was parsed
/// here, value by value.
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
        "--whip-token-file": [["/dev/null"]], "--janus-secret-file": [["/dev/null"]],
        "--janus-token-file": [["/dev/null"]], "--janus-pin-file": [["/dev/null"]],
        "--sound": [["monitor"], ["mic"], ["mix"], ["app"], ["none"]],
        "--microphone": [["alsa_input.usb-0.mono"], ["-m"]],
        "--output": [["a sink, of \"two\" words"], ["--output"]],
        "--volume": [["0"], ["128"], ["255"]],
        "--stats": [["/tmp/stats"], ["-"], ["--stats"]],
        "--events": [["/tmp/events"], ["-"], ["--events"]],
    ]
    private static let flags = [
        "--cursor", "--no-cursor", "--patches", "--no-patches", "--wake", "--no-wake", "--relay-only",
    ]
    /// Of these only one is given.
    static let choices = ["--monitor", "--region", "--window"]

    /// A new option fails here until it is tried below.
    @Test func allOptionsAreTried() {
        let lines = Share.helpMessage(columns: 100_000).split(separator: "\n").map { $0.drop { $0 == " " } }
        let names = lines.filter { $0.hasPrefix("--") }
            .flatMap { $0.prefix { $0 != " " && $0 != "," }.split(separator: "/").map(String.init) }
        #expect(
            Set(names).subtracting(["--help", "--version"]) == Set(Self.values.keys).union(Self.flags + ["--https"])
        )
    }

    /// It stands for a certificate, so it is not given with one.
    @Test func theMachinesOwnCertificateArrives() throws { try check(["--https", "--listen=8443"]) }

    /// All options at once, until each has had all its values. Of sources only one is given.
    @Test(arguments: choices)
    func eachValueArrives(choice: String) throws {
        let options = Self.values.keys.sorted().filter { $0 == choice || !Self.choices.contains($0) }
        let most = options.map { Self.values[$0]!.count }.max()!
        for round in 0..<most {
            let arguments = options.flatMap { option in
                let values = Self.values[option]!
                return values[round % values.count].map { "\(option)=\($0)" }
            }
            try check(arguments + Self.flags.filter { $0.hasPrefix("--no-") == round.isMultiple(of: 2) })
        }
    }

    @Test func someOptionsArriveWithoutTheOthers() throws {
        var random = SplitMix(seed: 16)
        for _ in 0..<15 {
            var options = Self.values.keys.sorted().filter { _ in Int.random(in: 0..<4, using: &random) == 0 }
            let choice = Self.choices.randomElement(using: &random)
            options.removeAll { Self.choices.contains($0) && $0 != choice || $0.hasPrefix("--tls") }
            try check(
                options.shuffled(using: &random).flatMap { option in
                    Self.values[option]!.randomElement(using: &random)!.map { "\(option)=\($0)" }
                }
            )
        }
    }

    @Test func aSenderThatIsStartedAgainKnowsIt() throws {
        let share = try Share.parse(["--accept=ask"])
        let commands = [share.senderCommand, share.laterSenderCommand]
        #expect(try commands.map { try Attach.parse(Array($0.dropFirst())).again } == [false, true])
    }

    /// Invariant: token.
    @Test func secretsStandOnNoCommandLine() throws {
        let token = "a-t0ken-0f-the-tests"
        let share = try Share.parse(["--token=\(token)", "--turn=us%3Aer:p%40ss@192.0.2.1", "--turn=me:s3cret@[::1]:1"])
        for argument in share.captureCommand + share.senderCommand + share.soundCommand {
            for secret in [token, "us", "p%40ss", "p@ss", "s3cret"] {
                #expect(!argument.contains(secret) || argument == "--bitrate=2500000", "\(argument)")
            }
        }
        let secrets = try share.web.secrets()
        #expect(secrets["ORIEL_TOKEN"] == token)
        let servers = try #require(secrets["ORIEL_TURN"]).split(separator: "\n").map {
            try TURNServer(parsing: "\($0)")
        }
        #expect(
            try servers.map { try $0.credentials(nil) } == [
                .password(username: "us:er", password: "p@ss"), .password(username: "me", password: "s3cret"),
            ]
        )
        #expect(text(of: servers) == text(of: share.web.iceServers.turn))
        // Chosen here, so that a sender that is started again has the same.
        #expect(try Share.parse([]).web.secrets()["ORIEL_TOKEN"]?.utf8.count == 22)
        #expect(try Share.parse(["--token=none"]).web.secrets()["ORIEL_TOKEN"] == "none")
    }

    /// What stands in a file is read there again, and would be of before in the environment.
    @Test func secretsInFilesStandInNoEnvironment() throws {
        let folder = try TemporaryDirectory()
        let names = ["turn-secret", "whip-token", "janus-secret", "janus-token", "janus-pin"]
        for name in names { try FileDescriptor.open(folder.file(name), O_WRONLY | O_CREAT).write("s3cret\n") }
        let options = names.map { "--\($0)-file=\(folder.file($0))" }
        let share = try Share.parse(options + ["--turn=turn.example", "--token=none"])
        let secrets = try share.web.secrets().merging(share.joined.secrets()) { $1 }
        #expect(secrets.count == 7 && !secrets.values.contains { $0.contains("s3cret") })
        #expect(Set(options).isSubset(of: share.senderCommand))
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
        let hosts = ["turn.example", "192.0.2.1", "[2001:db8::1]"]
        for _ in 0..<500 {
            let (user, password) = (word(), word())
            let place = hosts.randomElement(using: &random)! + ["", ":1", ":65535"].randomElement(using: &random)!
            let end = ["", "?transport=udp", "?transport=tcp"].randomElement(using: &random)!
            let scheme = ["", "turn:", end.hasSuffix("udp") ? "" : "turns:"].randomElement(using: &random)!
            let turn = try TURNServer(parsing: "\(scheme)\(escaped(user)):\(escaped(password))@\(place)\(end)")
            #expect(try turn.credentials(TURNSecret("secret")) == .password(username: user, password: password))
            #expect(text(of: try TURNServer(parsing: turn.argument)) == text(of: turn))
            let stun = try STUNServer(parsing: place)
            #expect(text(of: try STUNServer(parsing: stun.argument)) == text(of: stun))
        }
    }

    /// Parses the options, and what is made of them for each process, and compares.
    private func check(_ arguments: [String]) throws {
        var share = try Share.parse(arguments)
        #expect(share.captureCommand.first == Start.configuration.commandName ?? "start")
        let start = try Start.parse(Array(share.captureCommand.dropFirst()))
        #expect(text(of: start.broadcast) == text(of: share.broadcast), "\(arguments)")
        #expect(text(of: start.source) == text(of: share.source), "\(arguments)")
        #expect(share.senderCommand.first == Attach.configuration.commandName ?? "attach")
        let attach = try Attach.parse(Array(share.senderCommand.dropFirst()))
        // These go by the environment.
        (share.web.token, share.web.iceServers.turn) = (nil, [])
        #expect(attach.calls == [.web] + share.also)
        #expect(attach.fps == min(share.source.fps, 60))
        #expect(text(of: attach.broadcast) == text(of: share.broadcast), "\(arguments)")
        #expect(text(of: attach.video) == text(of: share.video), "\(arguments)")
        #expect(text(of: attach.entry) == text(of: share.entry), "\(arguments)")
        #expect(text(of: attach.web) == text(of: share.web), "\(arguments)")
        #expect(text(of: attach.room) == text(of: share.room), "\(arguments)")
        #expect(attach.sound == share.sound.isHeard)
        #expect(text(of: attach.talk) == text(of: share.talk), "\(arguments)")
        #expect(text(of: attach.sender) == text(of: share.sending), "\(arguments)")
        #expect(share.soundCommand.first == Hear.configuration.commandName ?? "hear")
        let hear = try Hear.parse(Array(share.soundCommand.dropFirst()))
        #expect(text(of: hear.broadcast) == text(of: share.broadcast), "\(arguments)")
        #expect(text(of: hear.sound) == text(of: share.sound), "\(arguments)")
        #expect(hear.events == share.sending.events && !hear.goesOn)
        // Files of secrets are read again, each time that they are needed.
        #expect(text(of: attach.joined) == text(of: share.joined))
    }

    /// All that a value holds.
    private func text(of value: some Any) -> String {
        var text = ""
        dump(value, to: &text)
        return text
    }
}
