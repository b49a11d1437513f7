import FoundationEssentials
import Glibc
import Posix
import TestSupport
import Testing

extension Command {
    /// Rings, frames, sources and messages on the desktop of the person who shares.
    @Suite struct DesktopCommandTests {
        private let folder: TemporaryDirectory

        init() throws { folder = try TemporaryDirectory(of: .shared) }

        private struct Side: Equatable {
            var (x, y, width, height) = (0, 0, 0, 0)

            func meets(_ other: Side) -> Bool {
                x < other.x + other.width && other.x < x + width && y < other.y + other.height && other.y < y + height
            }
        }

        /// The windows of rings and frames on a screen.
        private func marks(on server: XServer) -> [Side] {
            let found = (try? server.xdotool("search", "--onlyvisible", "--name", "^oriel mark$")) ?? ""
            return found.split(whereSeparator: \.isNewline).compactMap { id in
                guard let text = try? server.xdotool("getwindowgeometry", "--shell", String(id)) else { return nil }
                func number(_ name: String) -> Int {
                    let line = text.split(whereSeparator: \.isNewline).first { $0.hasPrefix("\(name)=") }
                    return line.flatMap { Int($0.dropFirst(name.count + 1)) } ?? 0
                }
                return Side(x: number("X"), y: number("Y"), width: number("WIDTH"), height: number("HEIGHT"))
            }
        }

        private func command(_ browser: Browser, _ body: String) throws -> Int {
            let script = "(await fetch(`${oriel.resource}/command`, { method: 'POST', body: '\(body)' })).status"
            return try browser.evaluate(script, as: Int.self)
        }

        private func capabilities(_ web: WebBroadcast, token: String = WebBroadcast.token) throws -> String {
            let request = ["curl", "-s", "-H", "Authorization: Bearer \(token)", "\(web.origin)/capabilities"]
            return try Subprocess.run(web.network.atViewer(request))
        }

        /// Around the part, for a time, and without taking clicks.
        @Test func aViewerPointsAtSomething() throws {
            let web = try WebBroadcast("--viewers-control")
            let browser = try web.open(.chromium)
            try browser.wait(forState: "live")
            #expect(try command(browser, #"{"highlight":[400,200,100,50,10000]}"#) == 204)
            try wait(until: "a ring is shown") { marks(on: web.server).count == 4 }
            let inside = Side(x: 400, y: 200, width: 100, height: 50)
            let sides = marks(on: web.server)
            #expect(sides.allSatisfy { !$0.meets(inside) }, "\(sides)")
            #expect(sides.map(\.x).min() == 396 && sides.map { $0.y + $0.height }.max() == 254, "\(sides)")
            let under = try web.server.xdotool("mousemove", "450", "198", "getmouselocation", "--shell")
            let ids = try web.server.xdotool("search", "--name", "^oriel mark$").split(whereSeparator: \.isNewline)
            #expect(!ids.contains { under.contains("WINDOW=\($0)\n") }, "\(under)")
            // A shorter one takes its place.
            #expect(try web.broadcast.run("highlight", "0,0,1280,720,100").code == 0)
            try wait(until: "it ends by itself") { marks(on: web.server).isEmpty }
            #expect(web.sender.errorOutput.contains("viewer 1 points at 400,200,100,50"))
            for (ring, code) in [("1270,0,20,20", Int32(1)), ("0,0,0,20", 64), ("0,0,20,20,99", 64), ("a", 64)] {
                let refused = try web.broadcast.run("highlight", ring)
                #expect(
                    refused.code == code && refused.errorOutput.split(whereSeparator: \.isNewline).count == 1,
                    "\(refused)"
                )
            }
        }

        /// It follows what is shared, and is not in the picture where something lies outside of it.
        @Test func aFrameIsAroundWhatIsShared() throws {
            let web = try WebBroadcast("--status-frame", "high")
            let part = Side(x: 200, y: 100, width: 640, height: 360)
            try wait(until: "it is there from the start") {
                marks(on: web.server).contains(Side(x: 0, y: 0, width: 1280, height: 4))
            }
            #expect(try web.broadcast.run("source", "--region", "640x360+200+100").code == 0)
            try wait(until: "it follows") {
                let sides = marks(on: web.server)
                return sides.count == 4 && sides.allSatisfy { !$0.meets(part) && $0.x >= 196 && $0.y >= 96 }
            }
            #expect(try web.broadcast.run("status-frame", "low").code == 0)
            try wait(until: "it is thin") { marks(on: web.server).contains(Side(x: 199, y: 99, width: 642, height: 1)) }
            #expect(try web.broadcast.run("source").code == 0)
            // Nothing lies outside of a whole screen.
            try wait(until: "it is at the edge") {
                marks(on: web.server).contains(Side(x: 0, y: 0, width: 1280, height: 1))
            }
            #expect(try web.broadcast.run("status-frame", "auto").code == 0)
            try wait(until: "nobody watches") { marks(on: web.server).isEmpty }
            let browser = try web.open(.chromium)
            try browser.wait(forState: "live")
            try wait(until: "somebody does") { marks(on: web.server).count == 4 }
            #expect(try web.broadcast.run("pause").code == 0)
            try wait(until: "nothing is shared") { marks(on: web.server).isEmpty }
            let refused = try web.broadcast.run("highlight", "0,0,10,10")
            #expect(refused.code == 1 && refused.errorOutput.contains("the broadcast is paused"), "\(refused)")
        }

        @Test func aViewerChoosesTheSource() throws {
            let server = try XServer(.virtual(width: 1280, height: 720))
            let logo = try openLogo(on: server)
            let window = try Int(identifier(ofLogoOn: server))!
            let web = try WebBroadcast(
                on: server,
                "--viewers-control",
                "--allow-source",
                "left=region 320x180+0+0",
                "--allow-source",
                "rechts=region 200x100+640+0",
                "--allow-source",
                "gone=window 0x\(String(window, radix: 16))"
            )
            logo.stop()
            let browser = try web.open(.chromium)
            try browser.wait(forState: "live")
            func shows(_ size: String) throws {
                try wait(until: "it shows \(size)") { try web.broadcast.run("status").output.contains(size) }
            }
            #expect(try command(browser, #"{"source":"rechts"}"#) == 204)
            try shows("200x100")
            #expect(try command(browser, #"{"source":"gone"}"#) == 409)
            #expect(try command(browser, #"{"source":"screen"}"#) == 409)
            try shows("200x100")
            #expect(try web.broadcast.run("source", "left").code == 0)
            try shows("320x180")
            #expect(try web.broadcast.run("source", "next").code == 0)
            try shows("200x100")
            let refused = try web.broadcast.run("source", "middle")
            #expect(refused.code == 1 && refused.errorOutput.contains("choose one of \"left\", \"rechts\", \"gone\""))
            #expect(try capabilities(web).contains(#""source":{"names":["left","rechts","gone"],"selected":"rechts"}"#))
            let other = try WebBroadcast()
            let unnamed = try other.broadcast.run("source", "next")
            #expect(unnamed.code == 1 && unnamed.errorOutput.contains("--allow-source"), "\(unnamed)")
            #expect(other.sender.status() == nil)
        }

        @Test(arguments: [
            ("monitor XX", "no monitor"), ("region 1281x720+0+0", "choose"), ("window 0x99", "no window"),
        ])
        func aSourceThatIsNotThereIsRefusedAtTheStart(source: String, reason: String) throws {
            let server = try XServer(.virtual(width: 1280, height: 720))
            let broadcast = try Broadcast(on: server.display)
            let capture = try broadcast.start()
            let result = try CommandResult(
                [Programs.oriel, "attach", "web", "--dir", broadcast.directory, "--allow-source", "it=\(source)"],
                environment: ["DISPLAY": server.display]
            )
            #expect(result.code == 1 && result.errorOutput.contains(reason), "\(result)")
            capture.stop()
        }

        /// To the terminal, the events and a program, whatever is in it.
        @Test func messagesReachTheUser() throws {
            let told = folder.file("told")
            let program = folder.file("program")
            let script = "#!/bin/sh\nwords=\"$(printf '%s|' \"$@\")$ORIEL_SENDER\"\necho \"$words\" >> \(told)\n"
            try FileDescriptor.open(program, O_WRONLY | O_CREAT).write(script)
            chmod(program, 0o755)
            try FileDescriptor.open(told, O_WRONLY | O_CREAT).write("")
            chmod(told, 0o666)
            let events = folder.file("events")
            let web = try WebBroadcast("--viewers-control", "--events", events, "--on-message", program)
            let browser = try web.open(.firefox)
            try browser.wait(forState: "live")
            #expect(try command(browser, #"{"message":"Größe 很好 $(reboot) \\"; ls"}"#) == 204)
            #expect(try command(browser, #"{"service":{"text":"lullaby","parameters":{"b":"2","a":"-x y"}}}"#) == 204)
            for hostile in [
                #"{"message":""}"#, #"{"message":"\\u001b[2J"}"#, #"{"message":"a\\nb"}"#, #"{"message":"\\u202eabc"}"#,
                #"{"service":{"text":"--help"}}"#, #"{"service":{"text":"a b"}}"#,
                #"{"service":{"text":"a","parameters":{"-x":"1"}}}"#,
            ] {
                #expect(try command(browser, hostile) == 422, "\(hostile)")
                usleep(250_000)
            }
            func text(_ path: String) throws -> String { String(decoding: try contents(of: path), as: UTF8.self) }
            try wait(until: "the program has run twice") { try text(told).count { $0 == "\n" } == 2 }
            let lines = try text(told).split(separator: "\n").map(String.init)
            #expect(
                Set(lines) == ["message|text=Größe 很好 $(reboot) \"; ls|viewer 1", "lullaby|a=-x y|b=2|viewer 1"],
                "\(lines)"
            )
            #expect(web.sender.errorOutput.contains("viewer 1 says: Größe 很好 $(reboot) \"; ls\n"))
            let told2 = try text(events)
            #expect(
                told2.contains(#""note":"Größe 很好 $(reboot) \"; ls""#)
                    && told2.contains(#""parameters":{"a":"-x y","b":"2"}"#)
            )
            #expect(try web.broadcast.run("message", "by hand").code == 0)
            try wait(until: "it has run again") { try text(told).contains("message|text=by hand|oriel\n") }
        }

        /// Messages for a program that there is not are counted.
        @Test func unknownMessagesAreIgnored() throws {
            let web = try WebBroadcast("--viewers-control")
            let browser = try web.open(.chromium)
            try browser.wait(forState: "live")
            #expect(try !capabilities(web).contains("\"service\""))
            for _ in 0..<3 { #expect(try command(browser, #"{"service":{"text":"lullaby"}}"#) == 204) }
            #expect(try web.broadcast.run("status", "--json").output.contains("\"messages_ignored\":3"))
        }

        /// One who may only watch can ask what there is, and command nothing.
        @Test func capabilitiesAreThoseOfTheBearer() throws {
            let web = try WebBroadcast("--lease", "1m", "--talkback", "ask")
            let common = try capabilities(web)
            #expect(common.contains(#""may":["watch","hear","talk"]"#), "\(common)")
            #expect(
                common.contains(#""lease":{"is_usual":true,"seconds":[1,60]}"#) && common.contains(#""talk":"ask""#)
            )
            #expect(common.contains(#""viewport":{"least":[64,36],"source":[1280,720]}"#), "\(common)")
            let invited = try web.broadcast.run("invite", "--as", "watch,controls").output
            let token = try #require(
                invited.split(separator: "#").dropFirst().first?.split(whereSeparator: \.isNewline).first
            )
            #expect(try capabilities(web, token: String(token)).contains(#""may":["watch","controls"]"#))
            #expect(try !capabilities(web, token: "wrong-token-of-somebody").contains("may"))
            let browser = try web.open(.chromium)
            try browser.wait(forState: "live")
            #expect(try command(browser, #"{"message":"hello"}"#) == 403)
            #expect(try !browser.isShown("command"))
        }
    }
}
