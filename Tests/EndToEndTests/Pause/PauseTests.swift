import FrameBridge
import Glibc
import Posix
import TestSupport
import Testing
import Time

extension Pause {
    /// What a person has hidden, and what was shared and is gone.
    @Suite struct PauseTests {
        /// A screen that somebody paused shows nothing new, whatever is drawn on it.
        @Test(arguments: [[String](), ["--freeze"]])
        func aPausedScreenShowsNothingNew(freeze: [String]) throws {
            let server = try XServer()
            let broadcast = try Broadcast(on: server.display)
            let capture = try broadcast.start("--no-cursor")
            func picture() throws -> [UInt8] {
                let path = broadcast.folder.file("picture.png")
                #expect(try broadcast.run("inspect", "--png", path).code == 0)
                return try contents(of: path)
            }
            func paint(_ colour: String) throws {
                try Subprocess.run(["xsetroot", "-solid", colour], environment: server.environment)
            }
            let unpainted = try picture()
            try paint("red")
            var red = unpainted
            try wait(until: "red shows, and all of it") {
                let next = try picture()
                defer { red = next }
                return next != unpainted && next == red
            }
            #expect(try CommandResult([Programs.oriel, "pause", "--dir", broadcast.directory] + freeze).code == 0)
            let paused = try picture()
            #expect((paused == red) == !freeze.isEmpty)
            try paint("blue")
            // Longer than the sweep that looks for missed damage.
            usleep(1_500_000)
            #expect(try picture() == paused)
            #expect(try broadcast.run("status").output.hasPrefix("paused"))
            #expect(try broadcast.run("resume").code == 0)
            try wait(until: "the new colour shows") { try picture() != paused }
            #expect(try picture() != red)
            capture.stop()
        }

        /// On a file system that has not a byte and not an inode left, by the program itself.
        @Test func aPauseWorksOnAFullDiskAndOutlivesItsProcess() throws {
            let server = try XServer()
            let folder = try TemporaryDirectory(of: .shared)
            let oriel = Programs.oriel
            let script = """
                set -e
                cd \(folder.path)
                dir="--dir $PWD/bridge"
                \(oriel) start --display \(server.display) $dir & capture=$!
                until \(oriel) status $dir 2> /dev/null | grep -q ^active; do sleep 0.05; done
                cat /dev/zero 2> /dev/null > fill || true
                while touch fill.$((count += 1)) 2> /dev/null; do :; done
                ! { echo x > x; } 2> /dev/null
                \(oriel) pause $dir
                kill -KILL $capture
                wait $capture || true
                \(oriel) start --display \(server.display) $dir & capture=$!
                until \(oriel) status $dir 2> /dev/null | grep -q "^paused.*640x480"; do sleep 0.05; done
                \(oriel) status $dir
                \(oriel) source --region 320x200+1+2 $dir
                \(oriel) resume $dir
                until \(oriel) status $dir | grep -q 320x200, ; do sleep 0.05; done
                \(oriel) status $dir
                \(oriel) stop $dir
                wait $capture
                ls bridge
                """
            let process = try Subprocess(commandLine(of: script, onDiskOf: "2m,nr_inodes=24", at: folder))
            #expect(try process.wait() == .code(0), "\(process.output) \(process.errorOutput)")
            let lines = process.output.split(separator: "\n")
            #expect(lines.first?.hasPrefix("paused") == true, "\(process.output)")
            #expect(lines.dropFirst().first?.hasPrefix("active") == true, "\(process.output)")
            #expect(lines.suffix(3) == ["reader.lock", "status", "writer.lock"])
            #expect(process.errorOutput.contains("still paused"))
        }

        /// Another window may have its identifier when a new process is to go on with it.
        @Test func aWindowThatIsGoneIsNotConfusedWithAnother() throws {
            let server = try XServer()
            let broadcast = try Broadcast(on: server.display, isOfTests: true)
            func openLogo() throws -> (Subprocess, String) {
                let logo = try Subprocess(["xlogo", "-geometry", "120x90+300+200"], environment: server.environment)
                let found = try server.xdotool("search", "--sync", "--onlyvisible", "--class", "xlogo")
                return (logo, String(found.split(separator: "\n")[0]))
            }
            func goOn() throws -> Subprocess {
                try Subprocess([
                    broadcast.oriel, "start", "--continue", "--display", server.display, "--dir", broadcast.directory,
                ])
            }
            let (first, id) = try openLogo()
            var capture = try broadcast.start("--region", "50x50+1+1")
            #expect(try broadcast.run("source", "--window", id).code == 0)
            try wait(until: "the window shows") { try broadcast.run("status").output.contains("120x90,") }
            // The same window is gone on with.
            capture.kill(SIGKILL)
            try capture.wait()
            capture = try goOn()
            try wait(until: "the window shows again: \(capture.errorOutput)") {
                let status = try broadcast.run("status").output
                return status.hasPrefix("active") && status.contains("120x90,")
            }
            first.stop()
            try broadcast.wait(forState: "source_lost")
            var (second, sameId) = try openLogo()
            // The server gives the same one again, unless somebody else is in its place at that moment.
            for _ in 0..<200 where sameId != id {
                second.stop()
                (second, sameId) = try openLogo()
            }
            try #require(sameId == id)
            #expect(try broadcast.run("status").output.hasPrefix("source_lost"))
            capture.kill(SIGKILL)
            try capture.wait()
            capture = try goOn()
            try capture.wait(until: "it says so") { capture.errorOutput.contains("is gone for good") }
            #expect(try broadcast.run("status").output.hasPrefix("source_lost"))
            #expect(try BridgeInspection(BridgeDirectory(path: broadcast.directory, create: false)).latest == nil)
            // A person may choose the other one.
            #expect(try broadcast.run("source", "--window", sameId).code == 0)
            try wait(until: "the other window shows") { try broadcast.run("status").output.contains("120x90,") }
            for program in [capture, second] { program.stop() }
        }

        /// Also where no screen tells how large a slate is to be, and while there is nobody to do it.
        @Test(arguments: [false, true])
        func aPauseHidesWhatADeadProcessLeft(isAskedOfTheDead: Bool) throws {
            let server = try XServer()
            let broadcast = try Broadcast(on: server.display, isOfTests: true)
            let capture = try broadcast.start()
            var reader = try FrameReader(directory: BridgeDirectory(path: broadcast.directory, create: false))
            guard case .frame = try reader.read({ _ in }) else { throw Unexpected("no picture") }
            capture.kill(SIGKILL)
            try capture.wait()
            try server.crash()
            let command = [broadcast.oriel, "pause", "--dir", broadcast.directory]
            let asked: Instant = MonotonicClock.now()
            var pause = isAskedOfTheDead ? try Subprocess(command) : nil
            let successor = try Subprocess([
                broadcast.oriel, "start", "--continue", "--display", server.display, "--dir", broadcast.directory,
            ])
            if pause == nil {
                try broadcast.wait(forState: "source_lost")
                pause = try Subprocess(command)
            }
            let asking = try #require(pause)
            if try asking.wait() == .code(75), isAskedOfTheDead {
                // On a busy machine the successor takes longer than the command waits.
                #expect(asking.errorOutput.contains("the next one begins paused"))
                try wait(until: "the next one has begun") { reader.horizon.instant.map { $0 >= asked } ?? false }
            } else {
                #expect(try asking.wait() == .code(0))
                #expect(try #require(reader.horizon.instant) >= asked)
            }
            reader.forget()
            guard case .frame(let slate) = try reader.read({ _ in }) else { throw Unexpected("no slate") }
            #expect(slate.capturedAt >= asked)
            successor.stop()
        }

        /// What a script of the user's does to the files is no goodbye.
        @Test func aSenderStaysWhenTheFilesOfADeadBroadcastAreDamaged() throws {
            let server = try XServer()
            let broadcast = try Broadcast(on: server.display)
            let first = try broadcast.start()
            let sender = try broadcast.attach(toPort: Ports.free())
            try first.suspend()
            let frames = try #require(
                FileDescriptor.open(broadcast.directory, O_RDONLY | O_DIRECTORY).entries().first {
                    $0.hasPrefix("frames.")
                }
            )
            for file in ["status", frames] {
                let rubbish = (0..<256).map { _ in UInt8.random(in: 0 ... .max) }
                try FileDescriptor.open("\(broadcast.directory)/\(file)", O_WRONLY).write(rubbish, at: 0)
            }
            first.kill(SIGKILL)
            try first.wait()
            try sender.wait(until: "the sender has noticed") { sender.errorOutput.contains("the capture process died") }
            #expect(sender.status() == nil)
            let second = try Subprocess([
                broadcast.oriel, "start", "--display", server.display, "--dir", broadcast.directory,
            ])
            try sender.wait(until: "the sender goes on") {
                sender.errorOutput.contains("the broadcast")
                    && (sender.errorOutput.contains("goes on") || sender.errorOutput.contains("is paused"))
            }
            #expect(sender.status() == nil)
            for program in [sender, second] { program.stop() }
        }

        /// A person who waits no longer for the answer does not want it done later; a pause stays asked for.
        @Test(arguments: [(SIGINT, "resume", "is taken back"), (SIGTERM, "pause", "stays")])
        func aRequestThatIsGivenUpIsTakenBackUnlessItIsAPause(signal: Int32, request: String, said: String) throws {
            let server = try XServer()
            let broadcast = try Broadcast(on: server.display)
            let capture = try broadcast.start()
            if request == "resume" { #expect(try broadcast.run("pause").code == 0) }
            try capture.suspend()
            let asking = try Subprocess([broadcast.oriel, request, "--dir", broadcast.directory])
            try wait(until: "it is asked") {
                try String(decoding: contents(of: "\(broadcast.directory)/control"), as: UTF8.self).contains(request)
            }
            asking.kill(signal)
            #expect(try asking.wait() == .code(1))
            #expect(asking.errorOutput.contains("the request to \(request) \(said)"), "\(asking.errorOutput)")
            capture.kill(SIGCONT)
            // What comes after it is answered after it.
            #expect(try broadcast.run("source", "--region", "100x100+0+0").code == 0)
            #expect(try broadcast.run("status").output.hasPrefix("paused"))
            capture.stop()
        }

        /// Monitors may have names of any length, and what cannot be shown is told by the process that knows.
        @Test func aLongNameOfAMonitorIsItsName() throws {
            let server = try XServer()
            let name = "a monitor " + String(repeating: "of a long name, ", count: 20) + "1 of 2"
            try server.xrandr("--setmonitor", name, "200/200x100/100+10+20", "none")
            let broadcast = try Broadcast(on: server.display)
            let capture = try broadcast.start()
            #expect(try broadcast.run("source", "--monitor", name).code == 0)
            try wait(until: "it shows") { try broadcast.run("status").output.contains("200x100,") }
            let unknown = try broadcast.run("source", "--monitor", name + "x")
            #expect(unknown.code == 1)
            #expect(unknown.errorOutput.contains("no monitor is named \"\(name)x\": choose from"))
            // A successor knows it too.
            capture.kill(SIGKILL)
            try capture.wait()
            let other = try Subprocess([
                broadcast.oriel, "start", "--continue", "--display", server.display, "--dir", broadcast.directory,
            ])
            try wait(until: "it shows again: \(other.errorOutput)") {
                let status = try broadcast.run("status").output
                return status.hasPrefix("active") && status.contains("200x100,")
            }
            other.stop()
        }

        /// Nothing but the last picture is left of what was shown before.
        @Test func aFrozenScreenLeavesTheLastPictureAlone() throws {
            let server = try XServer()
            let broadcast = try Broadcast(on: server.display, isOfTests: true)
            let capture = try broadcast.start("--no-cursor")
            let sender = try broadcast.attach(toPort: Ports.free())
            let bridge = try BridgeDirectory(path: broadcast.directory, create: false)
            func published() throws -> UInt64 { try BridgeInspection(bridge).published }
            for colour in ["red", "green", "blue"] {
                let before = try published()
                try Subprocess.run(["xsetroot", "-solid", colour], environment: server.environment)
                try wait(until: "\(colour) is published") { try published() > before }
            }
            // The last colour may come in two parts.
            var (count, restsSince): (_, Instant) = (try published(), MonotonicClock.now())
            try wait(until: "nothing more is published") {
                let next = try published()
                if next != count { (count, restsSince) = (next, MonotonicClock.now()) }
                return MonotonicClock.now() > restsSince + .seconds(1)
            }
            let last = try #require(try BridgeInspection(bridge).latest)
            #expect(try broadcast.run("pause", "--freeze").code == 0)
            let frozen = try BridgeInspection(bridge)
            #expect(frozen.slots.allSatisfy { $0.info.map { $0.capturedAt >= last.capturedAt } ?? false })
            #expect(try #require(frozen.horizon) >= last.capturedAt)
            #expect(frozen.tileAges.allSatisfy { $0 > 2 }, "nothing is sent again")
            for program in [sender, capture] { program.stop() }
        }
    }
}
