import Foundation
import Glibc
import TestSupport
import Testing

/// What is asked of a sender while it runs.
extension Admit {
    @Suite struct SenderCommandTests {
        private struct Status: Decodable {
            struct Call: Decodable {
                let name: String
                let state: String
                let viewers: [Int]
            }

            struct Sender: Decodable {
                let pid: Int32
                let calls: [Call]?
                let bitrateBps: Int?
                let problem: String?
            }

            struct Viewer: Decodable {
                let id: Int
                let sender: Int32
                let state: String
            }

            let senders: [Sender]
            let viewers: [Viewer]
        }

        private func status(of web: WebBroadcast) throws -> Status {
            let decoder = JSONDecoder()
            decoder.keyDecodingStrategy = .convertFromSnakeCase
            return try decoder.decode(Status.self, from: Data(web.broadcast.run("status", "--json").output.utf8))
        }

        /// The number of the one who looks in besides others. It is not always the next: a page that is slow begins anew.
        private func number(in web: WebBroadcast, besides others: [Int] = []) throws -> Int {
            var numbers: [Int] = []
            try wait(until: "the viewer is told of: \(numbers)") {
                numbers = try status(of: web).viewers.filter { $0.state == "connected" }.map(\.id)
                return numbers.count == others.count + 1 && others.allSatisfy { numbers.contains($0) }
            }
            return numbers.first { !others.contains($0) }!
        }

        /// The page of one viewer says so and stays away; the other one loses nothing.
        @Test func aKickedViewerStaysAway() throws {
            let web = try WebBroadcast("rtp://\(Network.viewerAddress):5004", "--bitrate", "2M")
            let counter = try draw("counter", on: web.server, "--fps", "30")
            let kicked = try web.open(.chromium)
            try kicked.wait(forState: "live")
            let first = try number(in: web)
            let other = try web.open(.firefox)
            try other.wait(forState: "live")
            let second = try number(in: web, besides: [first])
            let senders = try status(of: web).senders
            let calls = try #require(senders.first?.calls)
            #expect(calls.map(\.name) == ["web", "rtp://\(Network.viewerAddress):5004"])
            #expect(calls.map(\.viewers) == [[first, second], []] && calls[0].state == "standing")
            #expect(senders.map(\.bitrateBps) == [2_000_000])
            #expect(try status(of: web).viewers.map(\.sender) == senders.flatMap { [$0.pid, $0.pid] })

            #expect(try web.broadcast.run("kick", "\(first)").code == 0)
            try kicked.wait(forState: "kicked")
            try wait(until: "one is left") { try status(of: web).viewers.map(\.id) == [second] }
            #expect(web.sender.errorOutput.contains("viewer \(first) from 10.99.0.2 was sent away"))
            let frames = try other.framesDecoded
            try wait(until: "the other one goes on") { try other.framesDecoded > frames + 60 }
            #expect(try other.state == "live" && kicked.state == "kicked")
            #expect(try status(of: web).viewers.map(\.id) == [second])

            let again = try web.broadcast.run("kick", "\(first)")
            #expect(
                again.code == 1 && again.errorOutput.contains("no viewer \(first) looks in"),
                "\(again.errorOutput)"
            )
            // Whoever has the link may come again.
            try kicked.open("about:blank")
            try kicked.open(web.page)
            try kicked.wait(forState: "live")

            // On a slow link the page learns why it was sent away when it is about to come back.
            let slow =
                "(({ fetch }) => window.fetch = (path, options) => options?.method === 'DELETE' "
                + "? new Promise(done => setTimeout(done, 4000)).then(() => fetch(path, options)) : fetch(path, options)"
                + ")(window) !== null"
            #expect(try kicked.evaluate(slow, as: Bool.self))
            let third = try number(in: web, besides: [second])
            #expect(try web.broadcast.run("kick", "\(third)").code == 0)
            try kicked.wait(forState: "kicked")
            try wait(until: "it has left") { try status(of: web).viewers.map(\.id) == [second] }
            counter.stop()
        }

        @Test func aBitrateIsSetWhileItRuns() throws {
            let folder = try TemporaryDirectory(of: .shared)
            let stats = StatisticsLines(folder.file("stats"))
            let web = try WebBroadcast("--size", "640x360", "--bitrate", "2M", "--stats", stats.path)
            let motion = try draw("motion", on: web.server, "--fps", "30")
            let browser = try web.open(.chromium)
            try browser.wait(forState: "live")
            try wait(until: "it takes what it may") { try stats.last("bitrate_bps") ?? 0 > 600_000 }
            // A browser that has little time may ask for a keyframe.
            func unasked() throws -> Int { try stats.last("keyframes")! - stats.last("keyframe_requests")! }
            let before = try unasked()
            #expect(try web.broadcast.run("set", "--bitrate", "100k").code == 0)
            #expect(try status(of: web).senders.map(\.bitrateBps) == [100_000])
            try wait(until: "it takes less") { try stats.last("bitrate_bps") ?? .max < 500_000 }
            #expect(try web.broadcast.run("set", "--bitrate", "2M").code == 0)
            try wait(until: "it takes more again") { try stats.last("bitrate_bps") ?? 0 > 600_000 }
            // On a link that is thin, as on a busy machine, a page is a keyframe.
            let isThin = stats.text.contains(#""limit":"link""#)
            #expect(try (isThin || unasked() <= before) && browser.state == "live", "\(stats.text)")
            motion.stop()
        }

        /// A process that is stopped takes connections, and answers nothing.
        /// Invariant: hungSender.
        @Test func aSenderThatHangsIsASentence() throws {
            let web = try WebBroadcast()
            try web.sender.suspend()
            defer { web.sender.kill(SIGCONT) }
            let told = try web.broadcast.run("status")
            #expect(told.code == 0 && told.output.contains("does not answer"), "\(told.output)")
            for command in [["kick", "1"], ["set", "--bitrate", "1M"]] {
                let result = try web.broadcast.run(command)
                #expect(result.code == 75 && result.errorOutput.contains("does not answer"), "\(result.errorOutput)")
                #expect(result.errorOutput.split(separator: "\n").count == 1)
            }
        }

        @Test func withoutASenderThereIsNobodyToAsk() throws {
            let server = try XServer()
            let broadcast = try Broadcast(on: server.display)
            let capture = try broadcast.start()
            for command in [["kick", "1"], ["set", "--bitrate", "1M"]] {
                let result = try broadcast.run(command)
                #expect(
                    result.code == 75 && result.errorOutput.contains("no sender is attached"),
                    "\(result.errorOutput)"
                )
            }
            let other = try broadcast.run("kick", "1", "--sender", "1")
            #expect(other.code == 75 && other.errorOutput.contains("no sender 1 is attached"), "\(other.errorOutput)")
            for (words, sentence) in [
                (["kick"], "<id>"), (["kick", "x"], "'x'"), (["set"], "--bitrate"), (["set", "--bitrate", "1"], "30k"),
            ] {
                let result = try broadcast.run(words)
                #expect(result.code == 64 && result.errorOutput.contains(sentence), "\(result.errorOutput)")
            }
            capture.stop()
        }

        /// In a container of its own, a command sees no process of others.
        /// Invariant: hungSender.
        @Test func aCommandInAnotherContainerLeavesSendersAlone() throws {
            let server = try XServer()
            let broadcast = try Broadcast(on: server.display)
            let capture = try broadcast.start()
            let sender = try broadcast.attach(toPort: 5004)
            let words = ["status", "--dir", broadcast.directory, "--json"]
            for container in [["unshare", "--pid", "--fork"], []] {
                let result = try CommandResult(container + [broadcast.oriel] + words)
                let status = try JSONDecoder().decode(Status.self, from: Data(result.output.utf8))
                let calls = status.senders.map { $0.calls?.map(\.name) }
                #expect(calls == [["rtp://127.0.0.1:5004"]], "\(container): \(result.output)")
            }
            sender.stop()
            capture.stop()
        }

        /// Each counts its own viewers.
        @Test func ofTwoSendersTheRightOneIsAsked() throws {
            let web = try WebBroadcast()
            let second = try web.attachAnother("--listen", "\(web.network.senderHost):8081")
            let pages = try [web.page, web.page.replacing(":8080", with: ":8081")].map {
                try web.open(.chromium, page: $0)
            }
            defer { withExtendedLifetime(pages) {} }
            for page in pages { try page.wait(forState: "live") }
            try wait(until: "both are told of") { try status(of: web).viewers.map(\.id) == [1, 1] }
            let result = try web.broadcast.run("kick", "1")
            #expect(result.code == 1 && result.errorOutput.contains("--sender"), "\(result.errorOutput)")
            let pid = try #require(status(of: web).senders.map(\.pid).max())
            #expect(try web.broadcast.run("kick", "1", "--sender", "\(pid)").code == 0)
            try wait(until: "one is left") {
                try status(of: web).viewers.map(\.sender) != [pid] && status(of: web).viewers.count == 1
            }
            second.stop()
        }
    }
}
