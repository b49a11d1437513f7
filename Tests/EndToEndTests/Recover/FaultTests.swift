import Glibc
import Posix
import Synchronization
import TestSupport
import Testing
import Time

extension Recover {
    /// Any process may die at any instruction.
    @Suite struct FaultTests {
        /// Kills the capture process, the sender or the X server, 24 times, and starts it again. The pattern on the screen
        /// shows whether a receiver ever sees half of one picture and half of another.
        @Test func killedProcessesComeBackAndNoPictureIsTorn() throws {
            let stage = try Stage()
            try stage.waitForNewPicture("at the start")
            let seed = MonotonicClock.now().nanoseconds
            var random = SplitMix(seed: seed)
            print("faults with seed \(seed)")
            for round in 1...24 {
                let victim = Victim.allCases.randomElement(using: &random)!
                usleep(.random(in: 0...400_000, using: &random))
                try stage.kill(victim)
                usleep(.random(in: 0...200_000, using: &random))
                try stage.requireSurvivors()
                try stage.restart(victim)
                try stage.waitForNewPicture("after round \(round), the death of the \(victim)")
                try stage.requireSurvivors()
            }
            #expect(stage.pictures.tornNumbers.isEmpty)
            #expect(stage.pictures.legibleCount > 50)
            try stage.stop()
        }

        private enum Victim: CaseIterable { case capture, sender, server }

        /// A pattern on a screen, its broadcast, and one receiver. What was killed is nil until it is restarted.
        private final class Stage {
            let pictures = PatternPictures()
            private let broadcast: Broadcast
            private let receiver: Receiver
            private let port: UInt16
            private var server: XServer?
            private var workload: Subprocess?
            private var capture: Subprocess?
            private var sender: Subprocess?

            init() throws {
                let server = try Self.startServer(":\(Int.random(in: 1000..<50_000))")
                self.server = server
                broadcast = try Broadcast(on: server.display)
                port = try Ports.free()
                let pictures = pictures
                receiver = try Receiver(.gstreamerWithoutSession, sdp: "", port: port, in: broadcast.folder) {
                    pictures.look(at: $0)
                }
                workload = try draw("pattern", on: server)
                capture = try startCapture()
                sender = try startSender()
            }

            func kill(_ victim: Victim) throws {
                switch victim {
                case .capture: try crash(&capture)
                case .sender: try crash(&sender)
                case .server:
                    try server?.crash()
                    server = nil
                    try workload?.wait()
                }
            }

            func restart(_ victim: Victim) throws {
                switch victim {
                case .capture: capture = try startCapture()
                case .sender: sender = try startSender()
                case .server:
                    let server = try Self.startServer(broadcast.display)
                    self.server = server
                    workload = try draw("pattern", on: server)
                }
            }

            /// Waits until a picture arrives that was painted after this was called.
            func waitForNewPicture(_ when: String) throws {
                let start = MonotonicClock.now().nanoseconds
                try wait(until: "a new picture arrives \(when): \(said)") {
                    guard let seen = pictures.latest else { return false }
                    return paintedNumbers(since: start).contains(seen)
                }
            }

            func requireSurvivors() throws {
                try receiver.requireRunning()
                for process in [capture, sender].compactMap(\.self) {
                    if let exit = process.status() { throw Unexpected("\(exit): \(process.errorOutput)") }
                }
            }

            func stop() throws {
                for process in [sender, capture].compactMap(\.self) {
                    process.kill(SIGTERM)
                    #expect(try process.wait() == .code(0))
                }
                #expect(try broadcast.run("status").output.hasPrefix("stopped"))
                let left = try Subprocess.run(["ls", broadcast.directory]).split(separator: "\n")
                #expect(left.count { $0.hasPrefix("frames.") } <= 1, "no generation of a dead writer is left: \(left)")
                receiver.stop()
            }

            private var said: String { (capture?.errorOutput ?? "") + (sender?.errorOutput ?? "") }

            private func paintedNumbers(since time: UInt64) -> [Int] {
                (workload?.output ?? "").split(separator: "\n").suffix(900).compactMap { line in
                    let words = line.split(separator: " ")
                    guard words.count == 2, let painted = UInt64(words[1]), painted >= time else { return nil }
                    return Int(words[0])
                }
            }

            private func crash(_ process: inout Subprocess?) throws {
                process?.kill(SIGKILL)
                try process?.wait()
                process = nil
            }

            /// On a display of a number that no other test's server takes while this one is down: those take the lowest.
            private static func startServer(_ display: String) throws -> XServer {
                try XServer(.virtual(width: 1280, height: 720), display: display)
            }

            private func startCapture() throws -> Subprocess {
                try Subprocess([
                    Programs.oriel, "start", "--display", broadcast.display, "--dir", broadcast.directory,
                    "--no-cursor",
                ])
            }

            private func startSender() throws -> Subprocess {
                try Subprocess([
                    Programs.oriel, "attach", "rtp://127.0.0.1:\(port)", "--dir", broadcast.directory, "--sdp",
                    broadcast.sdp,
                ])
            }
        }
    }
}

/// What the received pictures of the workload `pattern` show.
final class PatternPictures: Sendable {
    private let state = Mutex(State())
    private let reader = NumberReader(width: Receiver.width)

    private struct State {
        var latest: Int?
        var legibleCount = 0
        var tornNumbers: [Set<Int>] = []
    }

    /// The number that the last legible picture shows.
    var latest: Int? { state.withLock { $0.latest } }
    var legibleCount: Int { state.withLock { $0.legibleCount } }
    /// For each picture that shows several numbers, which.
    var tornNumbers: [Set<Int>] { state.withLock { $0.tornNumbers } }

    func look(at luma: [UInt8]) {
        var numbers: Set<Int> = []
        for y in stride(from: 0, through: Receiver.height - reader.height, by: reader.height) {
            for x in [0, reader.bandOffset] {
                if let number = reader.value(in: luma, x: x, y: y) { numbers.insert(number) }
            }
        }
        guard let first = numbers.first else { return }
        state.withLock {
            $0.legibleCount += 1
            if numbers.count == 1 { $0.latest = first } else { $0.tornNumbers.append(numbers) }
        }
    }
}
