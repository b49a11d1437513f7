import Glibc
import Posix
import TestSupport
import Testing

extension Meet {
    /// What the other member of a room sends is shown.
    @Suite struct RoomRenderTests {
        private func waitUntil(
            _ path: String,
            shows colour: RenderedPictures.Colour,
            _ processes: Subprocess...
        ) throws {
            try wait(
                until: "\(path) shows \(colour): \(processes.map(\.errorOutput))"
            ) {
                for process in processes {
                    if let exit = process.status() { throw Unexpected("\(exit): \(process.errorOutput)") }
                }
                return try RenderedPictures(path)?.shows(colour) ?? false
            }
        }

        private func end(_ processes: Subprocess...) throws {
            for process in processes {
                process.kill(SIGTERM)
                try #expect(process.wait() == .code(0), "\(process.errorOutput)")
            }
        }

        /// Which way they go, as the table of `oriel status` has it.
        private func pictures(of member: RoomMember) throws -> [Substring] {
            let lines = try member.broadcast.run("status").output.split(separator: "\n")
            let head = try #require(lines.firstIndex { $0.hasPrefix("viewer ") })
            let place = try #require(lines[head].ranges(of: "pictures").first).lowerBound
            let column = lines[head].distance(from: lines[head].startIndex, to: place)
            return lines[(head + 1)...].map { $0.dropFirst(column).prefix { $0 != " " } }
        }

        private func state(_ browser: Browser) throws -> String {
            try browser.evaluate("document.documentElement.dataset.state", as: String.self)
        }

        // MARK: - Two of Oriel

        @Test(arguments: [("vp8", .ipv4), ("vp9", .ipv6), ("av1", .ipv4)] as [(String, Network.Family)])
        func twoSeeEachOther(codec: String, over family: Network.Family) throws {
            let scene = try RoomScene(over: family)
            let (first, second) = (scene.first.file("seen.y4m"), scene.second.file("seen.y4m"))
            let one = try scene.first.attach("--codec", codec, "--render", first)
            try one.wait(until: "the first is in the room") { one.errorOutput.contains("in room") }
            let other = try scene.second.attach("--codec", codec, "--render", second)
            try waitUntil(first, shows: .blue, one, other)
            try waitUntil(second, shows: .red, one, other)
            // What changes is there, too.
            try scene.first.display.fill(.green)
            try waitUntil(second, shows: .green, one, other)
            #expect(try RenderedPictures(second)?.width == 640)
            for member in [scene.first, scene.second] { #expect(try pictures(of: member) == ["both"]) }
            try end(one, other)
        }

        /// Only one of them wants to see the other; whoever comes first.
        @Test(arguments: [true, false])
        func oneSeesTheOther(wantsFirst: Bool) throws {
            let scene = try RoomScene()
            let path = scene.first.file("seen.y4m")
            var members: [Subprocess] = []
            for isFirst in [true, false] {
                let wants = isFirst == wantsFirst
                members.append(
                    try wants ? scene.first.attach("--render", path) : scene.second.attach()
                )
                try wait(until: "it is in the room") { members.last!.errorOutput.contains("in room") }
            }
            try waitUntil(path, shows: .blue, members[0], members[1])
            #expect(try pictures(of: scene.first) == ["received"] && pictures(of: scene.second) == ["sent"])
            try end(members[0], members[1])
        }

        /// A tenth of what one of them sends is lost: nothing stays broken.
        @Test func lossesAreMended() throws {
            let scene = try RoomScene()
            let path = scene.second.file("seen.y4m")
            let one = try scene.first.attach()
            try one.wait(until: "the first is in the room") { one.errorOutput.contains("in room") }
            try scene.network.loseFromSender(perThousand: 100)
            let other = try scene.second.attach("--render", path)
            try waitUntil(path, shows: .red, one, other)
            for colour in [.green, .blue, .red, .green] as [RenderedPictures.Colour] {
                try scene.first.display.fill(colour)
                try waitUntil(path, shows: colour, one, other)
            }
            try end(one, other)
        }

        /// A player that does not read, and one that goes away, hold up nothing.
        /// Invariant: untrustedMedia.
        @Test func aPipeThatNobodyReadsHoldsUpNothing() throws {
            let scene = try RoomScene()
            let path = scene.second.file("seen.y4m")
            let fifo = scene.first.file("pipe")
            #expect(mkfifo(fifo, 0o666) == 0 && chmod(fifo, 0o666) == 0)
            let one = try scene.first.attach("--render", fifo)
            try one.wait(until: "it waits for a reader") { one.errorOutput.contains("nobody reads the pipe") }
            let reader = FileDescriptor(taking: try check("open") { open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC) })
            try one.wait(until: "the first is in the room") { one.errorOutput.contains("in room") }
            let other = try scene.second.attach("--render", path)
            for colour in [.red, .green, .blue, .red] as [RenderedPictures.Colour] {
                try scene.first.display.fill(colour)
                try scene.second.display.fill(colour)
                try waitUntil(path, shows: colour, one, other)
            }
            let start = try [UInt8](unsafeUninitializedCapacity: 9) { buffer, count in
                count = try check("read") { read(reader.raw, buffer.baseAddress, 9) }
            }
            #expect(String(decoding: start, as: UTF8.self) == "YUV4MPEG2")
            _ = consume reader
            try scene.second.display.fill(.green)
            try one.wait(until: "it is told") { one.errorOutput.contains("nobody reads \(fifo) any more") }
            try scene.first.display.fill(.green)
            try waitUntil(path, shows: .green, one, other)
            try end(one, other)
        }

        @Test func standardOutputTakesPictures() throws {
            let scene = try RoomScene()
            let one = try scene.first.attach("--render", "-")
            let other = try scene.second.attach()
            try one.wait(until: "pictures come") {
                one.output.hasPrefix("YUV4MPEG2 W640 H480") && one.output.utf8.count > 640 * 480
            }
            try end(one, other)
        }

        // MARK: - Browsers

        @Test(arguments: [Browser.Kind.chromium, .firefox], [true, false])
        func aBrowserIsSeen(kind: Browser.Kind, senderIsFirst: Bool) throws {
            let scene = try RoomScene()
            let path = scene.first.file("seen.y4m")
            let (browser, sender): (Browser, Subprocess)
            if senderIsFirst {
                sender = try scene.first.attach("--render", path)
                try sender.wait(until: "the sender is in the room") { sender.errorOutput.contains("in room") }
                browser = try scene.open(kind)
            } else {
                browser = try scene.open(kind)
                try wait(until: "the browser is in the room") { try state(browser) == "waiting" }
                sender = try scene.first.attach("--render", path)
            }
            try wait(until: "they talk: \(sender.errorOutput)") {
                try state(browser) == "talking"
            }
            // Nothing is shown before the page shares something.
            #expect(try RenderedPictures(path) == nil)
            let _: Bool = try browser.evaluate(
                """
                (() => {
                    const canvas = document.createElement('canvas');
                    [canvas.width, canvas.height] = [640, 480];
                    document.body.append(canvas);
                    const context = canvas.getContext('2d');
                    let count = 0;
                    setInterval(() => {
                        context.fillStyle = window.colour ?? '#0f0';
                        context.fillRect(0, 0, 640, 480);
                        context.fillStyle = '#000';
                        context.fillRect(count++ % 600, 0, 8, 8);
                    }, 40);
                    oriel.show(canvas.captureStream(25).getVideoTracks()[0]);
                    return true;
                })()
                """
            )
            try waitUntil(path, shows: .green, sender)
            let _: String = try browser.evaluate("window.colour = '#00f'")
            try waitUntil(path, shows: .blue, sender)
            // It is seen itself, too.
            try wait(until: "the page shows the screen") {
                try browser.evaluate("theirs.videoWidth", as: Int.self) == 640
            }
            // The feedback reaches the browser's estimator: it sends, and gets no worse.
            try wait(until: "reports reach the browser") {
                let lost: Int? = try browser.evaluateOptional(
                    """
                    (async () => [...(await oriel.pc.getStats()).values()].find(
                        entry => entry.type === 'remote-inbound-rtp' && entry.kind === 'video')?.packetsLost ?? null)()
                    """
                )
                return lost != nil
            }
            try end(sender)
        }

        // MARK: - Windows

        /// Invariant: untrustedMedia.
        @Test func windowsShowBothSides() throws {
            let scene = try RoomScene()
            let desk = try XServer(.virtual(width: 1600, height: 900))
            let folder = try TemporaryDirectory()
            let one = try scene.first.attach("--render", "window", "--preview", environment: desk.environment)
            let other = try scene.second.attach("--render", scene.second.file("seen.y4m"))
            func find(_ name: String) throws -> String {
                let found = try? desk.xdotool("search", "--name", name)
                return found.map { String($0.prefix { !$0.isNewline }) } ?? ""
            }
            try wait(until: "both windows are there: \(one.errorOutput)") {
                try find("the other member") != "" && find("what is sent") != ""
            }
            // The broadcast's folder is called so.
            let (theirs, own) = (try find("the other member"), try find("what is sent .bridge."))
            try desk.xdotool("windowmove", own, "800", "100")
            func shows(_ x: Int, _ y: Int, _ colour: (Int, Int, Int)) throws -> Bool {
                let (r, g, b) = try desk.pixel(x: x, y: y, in: folder)
                return abs(Int(r) - colour.0) < 30 && abs(Int(g) - colour.1) < 30 && abs(Int(b) - colour.2) < 30
            }
            try wait(until: "the windows show both screens") {
                try shows(300, 200, (0, 0, 255)) && shows(1100, 300, (255, 0, 0))
            }
            // Scaled to the window's size, with bars.
            try desk.xdotool("windowsize", theirs, "700", "300")
            try wait(until: "the picture is scaled") {
                try shows(350, 290, (0, 0, 255)) && shows(20, 150, (0, 0, 0))
            }
            try scene.first.display.fill(.green)
            try scene.second.display.fill(.green)
            try wait(until: "the windows follow") {
                try shows(350, 150, (0, 255, 0)) && shows(1100, 300, (0, 255, 0))
            }
            // Both are closed, and the call goes on.
            for (index, window) in [theirs, own].enumerated() {
                try desk.xdotool("windowclose", window)
                try one.wait(until: "it is told") {
                    one.errorOutput.split(separator: "\n").count { $0.contains("window is closed") } == index + 1
                }
            }
            try scene.first.display.fill(.blue)
            try waitUntil(scene.second.file("seen.y4m"), shows: .blue, one, other)
            try end(one, other)
        }

        /// The windows end with the sender, however that ends; and without an X server there is a sentence and the call.
        @Test func windowsEndWithTheirSender() throws {
            let scene = try RoomScene()
            let desk = try XServer(.virtual(width: 1600, height: 900))
            let path = scene.second.file("seen.y4m")
            let one = try scene.first.attach("--preview", environment: desk.environment)
            try wait(until: "the window is there: \(one.errorOutput)") {
                (try? desk.xdotool("search", "--name", "what is sent")) != nil
            }
            one.kill(SIGKILL)
            _ = try one.wait()
            try wait(until: "the window is gone") { (try? desk.xdotool("search", "--name", "what is sent")) == nil }
            let again = try scene.first.attach("--render", "window", environment: ["DISPLAY": ":4711"])
            let other = try scene.second.attach("--render", path)
            try waitUntil(path, shows: .red, again, other)
            try again.wait(until: "it is told") { again.errorOutput.contains("no X server on :4711") }
            try scene.second.display.fill(.green)
            try scene.first.display.fill(.green)
            try waitUntil(path, shows: .green, again, other)
            try end(again, other)
        }

        @Test(
            arguments: [
                (["web", "--render", "x.y4m"], "is for rooms"),
                (["room+http://a/b", "room+http://a/c", "--render", "x.y4m"], "one room"),
                (["room+http://a/b", "web", "--render", "-"], "standard output"),
                (["room+http://a/b", "--render", ""], "needs a file"),
            ] as [([String], String)]
        )
        func wrongUse(arguments: [String], words: String) throws {
            let result = try CommandResult([Programs.oriel, "attach"] + arguments)
            #expect(result.code == 64)
            #expect(result.errorOutput.contains(words), "\(result.errorOutput)")
        }
    }
}
