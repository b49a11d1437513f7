import FrameBridge
import Glibc
import Posix
import TestSupport
import Testing
import Time

extension Read {
    /// Readers that were written from the document of the format alone, in C and in Python, on a live broadcast.
    @Suite struct OtherReaderTests {
        enum Language: CaseIterable { case c, python }

        /// The command of a reader, which is put into a folder if it is a script.
        private func command(_ language: Language, in folder: TemporaryDirectory) throws -> [String] {
            switch language {
            case .python:
                let program = folder.file("oriel-snapshot.py")
                try Subprocess.run(["install", "-m", "755", "tools/readers/oriel-snapshot.py", program])
                return ["python3", program]
            case .c: return [try Programs.snapshot.get()]
            }
        }

        @Test(arguments: Language.allCases, FrameStorage.allCases)
        func aSnapshotIsAsOurOwn(language: Language, storage: FrameStorage) throws {
            let server = try XServer()
            let broadcast = try Broadcast(on: server.display)
            let command = OrdinaryUser.shared.running(try command(language, in: broadcast.folder))
            let drawing = try draw("still", on: server)
            defer { drawing.stop() }
            let capture = try broadcast.start("--no-cursor", "--bridge", storage.rawValue)
            let (theirs, ours) = (broadcast.folder.file("theirs.png"), broadcast.folder.file("ours.png"))
            var before: [UInt8] = []
            try wait(until: "the screen is drawn") {
                #expect(try broadcast.run("inspect", "--png", ours).code == 0)
                let picture = try pixels(ofPicture: ours)
                defer { before = picture }
                return Set(picture).count > 10 && picture == before
            }
            // A workload that gets no time for a while has not drawn all.
            var worst = 255
            try measure("both are the same: \(worst)") {
                #expect(try broadcast.run("inspect", "--png", ours).code == 0)
                let snapshot = try CommandResult(command + ["--dir", broadcast.directory, theirs])
                try #require(snapshot.code == 0, "\(snapshot.errorOutput)")
                let (left, right) = (try pixels(ofPicture: theirs), try pixels(ofPicture: ours))
                try #require(left.count == right.count && left.count > 100_000)
                try #require(Set(left).count > 10, "there is nothing to see")
                worst = zip(left, right).lazy.map { abs(Int($0) - Int($1)) }.max() ?? 255
                return worst <= 2
            }
            capture.stop()
            // A broadcast that has ended is one to try again.
            let late = try CommandResult(command + ["--wait", "0", "--dir", broadcast.directory, theirs])
            #expect(late.code == 75, "\(late.errorOutput)")
            #expect(late.errorOutput.hasPrefix("oriel-snapshot: "))
        }

        @Test(arguments: Language.allCases, FrameStorage.allCases)
        func aReaderFollowsFromGenerationToGeneration(language: Language, storage: FrameStorage) throws {
            let server = try XServer()
            let broadcast = try Broadcast(on: server.display)
            let command = OrdinaryUser.shared.running(try command(language, in: broadcast.folder))
            let counter = try draw("counter", on: server, "--rate", "30")
            let first = try broadcast.start("--bridge", storage.rawValue)
            let picture = broadcast.folder.file("last.png")
            let reader = try Subprocess(command + ["--dir", broadcast.directory, "--follow", "8", picture])
            func inspection() throws -> String { try broadcast.run("inspect", "--json").output }
            try wait(until: "it reads") { try inspection().contains("\"readers_attached\":true") }
            let before = try #require(try wholeNumber("published", in: inspection()))
            try wait(until: "it has had something to follow") {
                try wholeNumber("published", in: inspection()) ?? 0 > before + 25
            }
            first.kill(SIGKILL)
            try first.wait()
            let second = try broadcast.start("--bridge", storage.rawValue)
            #expect(try reader.wait() == .code(0), "\(reader.errorOutput)")
            let numbers = reader.output.split(whereSeparator: { " =\n".contains($0) }).compactMap { Int($0) }
            #expect(numbers.count == 4 && numbers[0] > 20 && numbers[2] == 2, "\(reader.output)")
            #expect(access(picture, F_OK) == 0)
            second.stop()
            counter.stop()
        }

        /// What was captured before a pause is not shown, also in the instant before the slate is there.
        @Test(arguments: Language.allCases)
        func whatIsBeyondTheHorizonIsNotShown(language: Language) throws {
            let server = try XServer()
            let broadcast = try Broadcast(on: server.display)
            let command = OrdinaryUser.shared.running(try command(language, in: broadcast.folder))
            let picture = broadcast.folder.file("picture.png")
            let capture = try broadcast.start()
            try capture.suspend()
            let names = try FileDescriptor.open(broadcast.directory, O_RDONLY | O_DIRECTORY).entries()
            let frames = try #require(names.first { $0.hasPrefix("frames.") })
            let header = try FileDescriptor.open("\(broadcast.directory)/\(frames)", O_WRONLY)
            let now = MonotonicClock.now().nanoseconds
            for offset in [72, 96] { try header.write(withUnsafeBytes(of: now) { Array($0) }, at: offset) }
            let hidden = try CommandResult(command + ["--wait", "0", "--dir", broadcast.directory, picture])
            #expect(hidden.code == 75, "\(hidden.errorOutput)")
            #expect(access(picture, F_OK) != 0)
            capture.kill(SIGCONT)
            #expect(try broadcast.run("pause").code == 0)
            #expect(try CommandResult(command + ["--dir", broadcast.directory, picture]).code == 0)
            capture.stop()
        }

        @Test(arguments: Language.allCases)
        func damageIsOneSentence(language: Language) throws {
            let folder = try TemporaryDirectory()
            let command = try command(language, in: folder)
            let path = folder.file("bridge")
            let directory = try BridgeDirectory(path: path, create: true)
            var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
            let source = SourceRectangle(x: 0, y: 0, width: 64, height: 64)
            try writer.publish(FrameInfo(width: 64, height: 64, capturedAt: Instant(nanoseconds: 1), source: source)) {
                planes in
                planes.withPlanes { luma, _ in luma.storeBytes(of: 7, toByteOffset: 0, as: UInt8.self) }
            }
            let generation = try #require(try directory.status()).generation
            let name = String(generation, radix: 16)
            let file = "\(path)/frames." + String(repeating: "0", count: 16 - name.count) + name
            let whole = try contents(of: file)
            var seed = UInt64(5)
            for _ in 0..<(language == .python ? 20 : 60) {
                var damaged = whole
                for _ in 0..<4 {
                    seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    let offset = Int(seed >> 33 % 192)
                    // Header, or the slot of the only frame.
                    damaged[offset < 64 ? offset : 4096 + (whole.count - 4096) / 3 + offset - 64] = UInt8(
                        seed >> 24 & 0xFF
                    )
                }
                let descriptor = open(file, O_WRONLY)
                #expect(pwrite(descriptor, damaged, damaged.count, 0) == damaged.count)
                close(descriptor)
                let result = try CommandResult(command + ["--wait", "0", "--dir", path, folder.file("a.png")])
                #expect([0, 1, 75].contains(result.code))
                #expect(
                    result.code == 0 || result.errorOutput.split(separator: "\n").count == 1,
                    "\(result.errorOutput)"
                )
            }
            try writer.stop()
        }
    }
}
