import ArgumentParser
import Testing

@testable import oriel

/// What a person reads who got a command line wrong.
@Suite struct CommandLineTests {
    private static func sentence(_ arguments: [String]) -> String? {
        do {
            _ = try Oriel.parseAsRoot(arguments)
            return nil
        } catch {
            return UsageSentence(error, of: Oriel.self, arguments: arguments).text
        }
    }

    @Test func aSecretThatCannotBeReadIsSaid() throws {
        #expect(
            Self.sentence(["attach", "web", "--turn=h", "--turn-secret-file=/no-such-file"])
                == "cannot read /no-such-file (No such file or directory): give a file with the secret of the TURN servers"
        )
    }

    @Test(
        arguments: [
            (["attach"], "missing expected argument '<call> ...' (see \"oriel help attach\")"),
            (["dance"], "unexpected argument 'dance' (see \"oriel help\")"),
            (["pause", "--foo"], "unknown option '--foo' (see \"oriel help pause\")"),
            (
                ["attach", "web", "--bitrat=1M"],
                "unknown option '--bitrat': did you mean '--bitrate'? (see \"oriel help attach\")"
            ),
            (["start", "--fps=0"], "--fps 0 is out of range: give 1 to 240 (see \"oriel help start\")"),
            (
                ["start", "--bridge=x"],
                "--bridge: \"x\" is neither file nor memfd (see \"oriel help start\")"
            ),
            (
                ["talk", "1", "x"],
                "the value 'x' is invalid for '<on|off>': give one of 'on' and 'off' (see \"oriel help talk\")"
            ),
            (
                ["attach", "room+http://h"],
                "room+http://h names no room: write its name after the server, as in room+https://HOST/ROOM "
                    + "(see \"oriel help attach\")"
            ),
            (
                ["attach", "foo"],
                "foo is no call: write web, room+https://HOST/ROOM, whip+https://HOST/PATH, janus+ws://HOST:PORT/ROOM, "
                    + "cmaf+https://HOST/PATH/, or rtp://HOST:PORT (see \"oriel help attach\")"
            ),
            (
                ["attach", "https://h/secret"],
                "a web address alone is no call: write whip+ before a media server's, room+ before a room's "
                    + "(see \"oriel help attach\")"
            ),
            (["status", "whip+https://h/secret"], "unexpected argument 'whip+…' (see \"oriel help status\")"),
            (
                ["attach", "web", "--turn=u:secret@h@:0"],
                "--turn: give HOST or HOST:PORT, such as stun.example.net:3478 (see \"oriel help attach\")"
            ),
        ]
    )
    func aWrongCommandLineIsToldInOneSentence(arguments: [String], sentence: String) {
        #expect(Self.sentence(arguments) == sentence)
    }

    /// As what `run` throws, it names the command too.
    @Test func aProblemThatIsFoundLaterNamesItsCommand() {
        let error = ValidationError("--print hands nothing over: leave --running out.")
        #expect(
            UsageSentence(error, of: Attach.self, arguments: []).text
                == "--print hands nothing over: leave --running out (see \"oriel help attach\")"
        )
    }
}
