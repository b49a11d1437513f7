import FoundationEssentials
import Glibc
import TestSupport
import Testing

extension Admit {
    /// Links for somebody, with rights, an end, and a way to take them back.
    @Suite struct InvitedViewerTests {
        private let folder: TemporaryDirectory

        init() throws { folder = try TemporaryDirectory(of: .shared) }

        /// What a command prints: the address of a page. A machine has several.
        private func invite(_ web: WebBroadcast, _ options: String...) throws -> String {
            let result = try web.broadcast.run(["invite"] + options)
            #expect(result.code == 0 && result.errorOutput.isEmpty, "\(result)")
            let link = result.output.split(whereSeparator: \.isNewline).first { $0.hasPrefix("\(web.origin)/#") }
            return String(try #require(link, "\(result)"))
        }

        private struct Listed: Decodable {
            enum CodingKeys: String, CodingKey {
                case id, name, rights, once, taken, viewers
                case left = "left_s"
            }

            let id: Int
            let name: String
            let rights: [String]
            let left: Double?
            let once: Bool?
            let taken: Bool?
            let viewers: [Int]
        }

        private func listed(_ web: WebBroadcast) throws -> [Listed] {
            let result = try web.broadcast.run("invites", "--json")
            return try JSONDecoder().decode([Listed].self, from: Data(result.output.utf8))
        }

        @Test(arguments: Browser.Kind.allCases) func aLinkIsTakenBack(kind: Browser.Kind) throws {
            let web = try WebBroadcast("--accept", "ask", "--events", folder.file("events"))
            let link = try invite(web, "Ann", "--for", "1h")
            #expect(try invite(web) != link)
            let browser = try web.open(kind, page: link)
            // Who is invited need not knock.
            try browser.wait(forState: "live")
            var invites = try listed(web)
            #expect(invites.map(\.name) == ["Ann", ""] && invites.map(\.viewers.count) == [1, 0])
            #expect(invites[0].rights == ["watch", "hear"] && invites[0].once == nil)
            #expect(invites[0].left.map { 3000...3600 ~= $0 } ?? false)
            let line = try web.broadcast.run("invites").output
            #expect(line.contains("1  Ann: watch, hear, 3") && line.contains("2  somebody: watch, hear\n"), "\(line)")
            #expect(try web.broadcast.run("revoke", "Ann").code == 0)
            try browser.wait(forState: "denied")
            #expect(try browser.audit() == [])
            let events = try String(decoding: contents(of: folder.file("events")), as: UTF8.self)
            #expect(events.contains("\"reason\":\"revoked\""), "\(events)")
            #expect(
                web.sender.errorOutput.contains("(\"Ann\") from \(Network.viewerAddress) came by a link that is over"),
                "\(web.sender.errorOutput)"
            )
            invites = try listed(web)
            #expect(invites.map(\.id) == [2])
            #expect(try web.broadcast.run("revoke", "--all").code == 0)
            #expect(try listed(web).isEmpty)
            let again = try web.broadcast.run("revoke", "Ann")
            #expect(again.code == 1 && again.errorOutput.contains("no invitation Ann is there"), "\(again)")
        }

        /// Another browser is told, and so is a program. The first one may come again.
        @Test func aLinkForOneIsThatOfTheFirst() throws {
            let web = try WebBroadcast()
            let link = try invite(web, "--once")
            #expect(try listed(web).first?.taken == false)
            let first = try web.open(.chromium, page: link)
            try first.wait(forState: "live")
            #expect(try listed(web).first?.taken == true)
            let second = try web.open(.firefox, page: link)
            try second.wait(forState: "link_taken")
            #expect(try second.audit() == [])
            try first.open("about:blank")
            try first.open(link)
            try first.wait(forState: "live")
        }

        /// On a terminal, as a telephone reads it.
        @Test func theCodeIsTheLink() throws {
            let web = try WebBroadcast()
            let command = "\(web.broadcast.oriel) invite --dir \(web.broadcast.directory)"
            let result = try CommandResult(["script", "-qec", command, "/dev/null"])
            let lines = result.output.split(whereSeparator: \.isNewline)
            let link = try #require(lines.first, "\(result)")
            let rows = lines.drop { $0.hasPrefix("http") }.flatMap { line in
                let blocks = line.replacing("\u{1B}[40;97m", with: "").replacing("\u{1B}[0m", with: "")
                return ["█▀", "█▄"].map { light in blocks.map { light.contains($0) ? "255" : "0" } }
            }
            let (width, scale) = (try #require(rows.first).count, 6)
            let picture = rows.flatMap { row in
                Array(repeating: row.flatMap { Array(repeating: $0, count: scale) }, count: scale)
            }
            let header = "P2 \(width * scale) \(rows.count * scale) 255\n"
            let text = header + picture.map { $0.joined(separator: " ") }.joined(separator: "\n") + "\n"
            try Data(text.utf8).write(to: URL(filePath: folder.file("code.pgm")))
            #expect(try Subprocess.run(["zbarimg", "--quiet", "--raw", folder.file("code.pgm")]) == "\(link)\n")
            // In a pipe there is none.
            #expect(try !web.broadcast.run("invite").output.contains("█"))
        }

        @Test func itEndsInTime() throws {
            let web = try WebBroadcast()
            let browser = try web.open(.chromium, page: invite(web, "--for", "12s"))
            try browser.wait(forState: "live")
            try browser.wait(forState: "denied")
            #expect(try listed(web).isEmpty)
        }

        /// A sender that died is started again by the share, and has the same links.
        @Test func itOutlivesItsSender() throws {
            let network = try Network()
            let server = try XServer(.virtual(width: 1280, height: 720))
            let directory = folder.file("bridge")
            let home = folder.file("state")
            let share = try Subprocess(
                network.atSender([Programs.oriel, "share", "--dir", directory]),
                environment: ["DISPLAY": server.display, "XDG_STATE_HOME": home]
            )
            try share.wait(until: "it serves") { share.outputLines.contains { $0.contains("#") } }
            func run(_ words: String...) throws -> CommandResult {
                try CommandResult([Programs.oriel, words[0], "--dir", directory] + words.dropFirst())
            }
            let made = try run("invite", "Ann")
            let origin = "http://\(network.senderHost):8080/#"
            let link = try #require(
                made.output.split(whereSeparator: \.isNewline).first { $0.hasPrefix(origin) },
                "\(made)"
            )
            #expect(try run("invite", "Bob", "--as", "controls").code == 0)
            #expect(try run("invites").output.contains("Bob: watch, controls"))
            #expect(try run("revoke", "Bob").code == 0)
            let unknown = try run("revoke", "Bob").errorOutput
            #expect(unknown.contains("no invitation Bob") && unknown.contains("\"oriel invites\""), "\(unknown)")
            let browser = try network.browser(.chromium)
            try browser.open(String(link))
            try browser.wait(forState: "live")
            struct Status: Decodable {
                struct Sender: Decodable { let pid: Int32 }
                let senders: [Sender]
            }
            func sender() throws -> Int32? {
                try JSONDecoder().decode(Status.self, from: Data(try run("status", "--json").output.utf8)).senders
                    .first?.pid
            }
            let former = try #require(try sender())
            kill(former, SIGKILL)
            try wait(until: "another one is there") { try sender().map { $0 != former } ?? false }
            try browser.wait(forState: "live")
            let lines = try run("invites").output
            #expect(lines.hasPrefix("1  Ann: watch, hear") && !lines.contains("Bob"), "\(lines)")
            // The file holds no token.
            let journals = try FileManager.default.contentsOfDirectory(atPath: "\(home)/oriel/invites")
            #expect(journals.count == 1)
            let journal = try String(decoding: contents(of: "\(home)/oriel/invites/\(journals[0])"), as: UTF8.self)
            #expect(journal.contains("Ann") && !journal.contains(link.split(separator: "#")[1]))
            share.stop()
        }

        @Test(
            arguments: [
                (
                    ["--as", "watch,listen"],
                    "there is no right listen: choose among watch, hear, talk, controls, record"
                ),
                (["--as", ""], "takes one right or more"), (["--for", "9s"], "--for"), (["--for", "367d"], "--for"),
                (["--for", "-1s"], "--for"), (["7"], "a name must not be a number"),
            ] as [([String], String)]
        )
        func anInvitationThatCannotBeIsRefused(options: [String], sentence: String) throws {
            let result = try CommandResult([Programs.oriel, "invite", "--dir", folder.file("none")] + options)
            #expect(result.code == 64 && result.errorOutput.contains(sentence), "\(result)")
        }

        /// A right that the share itself does not have.
        @Test func nobodyGetsMoreThanThereIs() throws {
            let web = try WebBroadcast("--talkback", "off")
            for (rights, sentence) in [("watch,talk", "--talkback ask"), ("watch,record", "--viewers-record")] {
                let result = try web.broadcast.run("invite", "--as", rights)
                #expect(result.code == 1 && result.errorOutput.contains(sentence), "\(result)")
            }
            let open = try CommandResult([Programs.oriel, "invite", "--dir", folder.file("none")])
            #expect(open.code == 75 && open.errorOutput.split(whereSeparator: \.isNewline).count == 1, "\(open)")
        }
    }
}
