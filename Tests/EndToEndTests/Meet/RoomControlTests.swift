import Glibc
import TestSupport
import Testing

extension Meet {
    /// Members of a room knock, are let in or not, are sent away, hang up and are lost; each learns of the other.
    @Suite struct RoomControlTests {
        private func wait(for words: String, in process: Subprocess) throws {
            try process.wait(until: "\(words)") { process.errorOutput.contains(words) }
        }

        private func wait(for state: String, of browser: Browser) throws {
            try TestSupport.wait(until: "the page is \(state)") {
                try browser.evaluate("document.documentElement.dataset.state", as: String.self) == state
            }
        }

        /// A page can talk before the sender knows of it: of two ends, one is connected first.
        private func waitUntilSomebodyLooksIn(_ count: Int, at process: Subprocess) throws {
            try process.wait(until: "somebody looks in") {
                process.errorOutput.ranges(of: "looks in, ").count == count
            }
        }

        private func status(_ browser: Browser) throws -> String {
            try browser.evaluate("document.getElementById('status').textContent", as: String.self)
        }

        private func click(_ id: String, in browser: Browser) throws {
            let _: Bool? = try browser.evaluateOptional("(document.getElementById('\(id)').click(), true)")
        }

        /// The number under which `status` shows the other member.
        private func number(of member: RoomMember) throws -> String {
            let lines = try member.broadcast.run("status").output.split(separator: "\n")
            let row = try #require(lines.last { $0.contains("room tea") }, "\(lines)")
            return String(row.prefix { $0 != " " })
        }

        // MARK: - Two of Oriel

        @Test(arguments: [true, false]) func whoIsLetInSeesAndIsSentAway(askerIsFirst: Bool) throws {
            let scene = try RoomScene()
            let path = scene.second.file("seen.y4m")
            func ask() throws -> Subprocess {
                let asker = try scene.first.attach("--accept", "ask", "--answer-timeout", "600")
                try wait(for: "in room", in: asker)
                return asker
            }
            var asker = askerIsFirst ? try ask() : nil
            let ann = try scene.second.attach("--render", path, "--as", "Ann", "--note", "for the demo")
            if asker == nil {
                try wait(for: "in room", in: ann)
                asker = try ask()
            }
            let sharer = try #require(asker)
            try wait(for: "\"Ann\" from room tea (\"for the demo\") asks to look in: \"oriel accept 1\"", in: sharer)
            try wait(for: "lets people in one by one", in: ann)
            #expect(try scene.first.broadcast.run("status").output.contains("1: \"Ann\" from room tea"))
            #expect(try RenderedPictures(path) == nil)
            #expect(try scene.first.broadcast.run("accept", "1").code == 0)
            try TestSupport.wait(until: "Ann sees the screen: \(ann.errorOutput)") {
                try RenderedPictures(path)?.shows(.red) ?? false
            }
            try wait(for: "looks in", in: sharer)
            #expect(try scene.first.broadcast.run("kick", number(of: scene.first)).code == 0)
            try #expect(ann.wait() == .code(77))
            #expect(ann.errorOutput.contains("has sent this side away"), "\(ann.errorOutput)")
            try wait(for: "the other member of the room was sent away", in: sharer)
            sharer.kill(SIGTERM)
            try #expect(sharer.wait() == .code(0))
        }

        @Test(arguments: [(true, 77, "does not let this side in"), (false, 75, "nobody answered")])
        func whoIsNotLetInEnds(isRejected: Bool, code: Int32, words: String) throws {
            let scene = try RoomScene()
            let patience = isRejected ? "600" : "1"
            let asker = try scene.first.attach("--accept", "ask", "--answer-timeout", patience)
            try wait(for: "in room", in: asker)
            let ann = try scene.second.attach("--as", "Ann", "--render", scene.second.file("seen.y4m"))
            try wait(for: "asks to look in", in: asker)
            if isRejected { #expect(try scene.first.broadcast.run("reject", "1").code == 0) }
            try #expect(ann.wait() == .code(code))
            #expect(ann.errorOutput.contains(words), "\(ann.errorOutput)")
            #expect(asker.status() == nil)
        }

        @Test(arguments: [(SIGINT, "has hung up"), (SIGKILL, "is lost")])
        func whoGoesIsTold(signal: Int32, words: String) throws {
            let scene = try RoomScene()
            let one = try scene.first.attach("--render", scene.first.file("seen.y4m"))
            let other = try scene.second.attach()
            try wait(for: "the other member of the room", in: one)
            try wait(for: "looks in", in: other)
            other.kill(signal)
            try wait(for: "the other member of the room \(words)", in: one)
            #expect(one.errorOutput.ranges(of: "the other member of the room").count == 2, "\(one.errorOutput)")
        }

        /// Neither asks to see the other: they rest, and a third attempt is not made.
        @Test func twoWhoShowNothingRest() throws {
            let scene = try RoomScene()
            let one = try scene.first.attach()
            let other = try scene.second.attach()
            for process in [one, other] { try wait(for: "start one of them with --render", in: process) }
            // Each would have tried again by now.
            sleep(4)
            for process in [one, other] {
                #expect(process.errorOutput.split(separator: "\n").count == 2, "\(process.errorOutput)")
            }
            other.kill(SIGTERM)
            try #expect(other.wait() == .code(0))
            let third = try scene.second.attach("--render", scene.second.file("seen.y4m"))
            try wait(for: "looks in", in: one)
            third.kill(SIGTERM)
            try #expect(third.wait() == .code(0))
        }

        // MARK: - Pages

        @Test(arguments: [Browser.Kind.chromium, .firefox]) func aPageKnocksAndIsKnownAgain(kind: Browser.Kind) throws {
            let scene = try RoomScene()
            let asker = try scene.first.attach("--accept", "ask", "--answer-timeout", "600")
            try wait(for: "in room", in: asker)
            let browser = try scene.open(kind)
            func knock(as name: String) throws {
                try wait(for: "knocking", of: browser)
                let script = """
                    (document.getElementById('name').value = '\(name)', document.getElementById('note').value = 'hi',
                    document.getElementById('knock').requestSubmit(), true)
                    """
                let _: Bool? = try browser.evaluateOptional(script)
                try wait(for: "asking", of: browser)
            }
            try knock(as: "Ann")
            try wait(for: "\"Ann\" from room tea (\"hi\") asks to look in", in: asker)
            #expect(try scene.first.broadcast.run("accept", "1").code == 0)
            try wait(for: "talking", of: browser)
            try waitUntilSomebodyLooksIn(1, at: asker)
            // Whoever was let in needs not ask again.
            try browser.open("about:blank")
            // Firefox closes a page's WebSocket before the page could say so. Its goodbye to the peer may be there first.
            let words = kind == .firefox ? ["is lost", "the room left"] : ["has hung up"]
            try asker.wait(until: "it is told") {
                words.contains { asker.errorOutput.contains($0) }
            }
            try browser.open("http://\(Network.senderAddress):8090/tea")
            try wait(for: "talking", of: browser)
            try waitUntilSomebodyLooksIn(2, at: asker)
            #expect(asker.errorOutput.ranges(of: "asks to look in").count == 1)
            // Who was sent away has to.
            #expect(try scene.first.broadcast.run("kick", number(of: scene.first)).code == 0)
            try wait(for: "kicked", of: browser)
            try click("leave", in: browser)
            try knock(as: "Ann")
            try wait(for: "\"oriel accept 2\"", in: asker)
            #expect(try scene.first.broadcast.run("reject", "2").code == 0)
            try wait(for: "rejected", of: browser)
        }

        @Test func whoCancelsHasLeft() throws {
            let scene = try RoomScene()
            let asker = try scene.first.attach("--accept", "ask", "--answer-timeout", "600")
            try wait(for: "in room", in: asker)
            let browser = try scene.open(.chromium)
            try wait(for: "knocking", of: browser)
            #expect(try browser.audit() == [])
            let knock = """
                (document.getElementById('name').value = 'Ann', document.getElementById('knock').requestSubmit(), true)
                """
            let _: Bool? = try browser.evaluateOptional(knock)
            try wait(for: "asking", of: browser)
            #expect(try browser.audit() == [])
            try wait(for: "\"Ann\" from room tea asks to look in", in: asker)
            try click("cancel", in: browser)
            try wait(for: "left", of: browser)
            // The button leads back.
            try click("leave", in: browser)
            try wait(for: "knocking", of: browser)
        }

        @Test func pageAndSenderTellEachOtherThatTheyLeave() throws {
            let scene = try RoomScene()
            let sender = try scene.first.attach()
            try wait(for: "in room", in: sender)
            let browser = try scene.open(.chromium)
            try wait(for: "talking", of: browser)
            try waitUntilSomebodyLooksIn(1, at: sender)
            try click("leave", in: browser)
            try wait(for: "the other member of the room has hung up", in: sender)
            try wait(for: "left", of: browser)
            // The button leads back.
            try click("leave", in: browser)
            try wait(for: "talking", of: browser)
            sender.kill(SIGINT)
            try #expect(sender.wait() == .code(0))
            try wait(for: "waiting", of: browser)
            #expect(try status(browser) == "The other one has hung up.")
        }
    }
}
