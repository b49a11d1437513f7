import Configuration
import Helpers
import ICE
import TestSupport
import Testing

@testable import Credentials

/// Secrets whose files are renewed.
@Suite struct SecretFileTests {
    @Test func theSecretOfRelaysIsRenewed() throws {
        let reader = try PlayedReader(["secret"])
        let secret = TURNSecret("old")
        let file = TURNSecretFile("secret", of: secret, by: reader.files)
        let looks: [(content: String?, news: TURNSecretFile.News?, secret: String)] = [
            ("old\n", nil, "old"), (" new ", .renewed, "new"), ("new", nil, "new"),
            // Told once, whichever it is, until there is a secret again.
            (nil, .unfit, "new"), (" \n", nil, "new"), ("new", nil, "new"), ("", .unfit, "new"),
            ("old", .renewed, "old"),
        ]
        for look in looks {
            try reader.answer([look.content])
            #expect(file.look() == look.news)
            #expect(secret.current == look.secret)
        }
        reader.stopAnswering()
        #expect(file.look() == nil && secret.current == "old")
        #expect(reader.ends.map(\.files) == [["secret"]])
    }

    /// The thread sleeps for a minute, and is woken at the end.
    @Test func theThreadEndsAtOnce() throws {
        let file = TURNSecretFile("secret", of: TURNSecret("old"), by: try PlayedReader(["secret"]).files)
        try file.begin()
        file.close()
    }

    /// The PIN stands in no file.
    @Test func secretsOfJanusAreThoseOfTheTime() throws {
        let reader = try PlayedReader(["secret", "token"])
        let current = Secret.renewed(["s1", "t1", "p"], in: [0, 1], from: reader.files)
        try reader.answer(["s1", "t2\n"])
        #expect(current() == ["s1", "t2", "p"])
        try reader.answer(["s2", nil])
        #expect(current() == ["s2", "t2", "p"])
        reader.stopAnswering()
        #expect(current() == ["s2", "t2", "p"])
    }
}
