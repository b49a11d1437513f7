import FrameBridge
import Glibc
import Posix
import TestSupport
import Testing
import Time

extension Read {
    /// Readers of sound that were written from the document of the format alone, in C and in Python.
    @Suite struct OtherListenerTests {
        enum Language: CaseIterable { case c, python }

        private let folder: TemporaryDirectory
        private let path: String

        init() throws {
            folder = try TemporaryDirectory()
            path = folder.file("bridge")
        }

        /// The command of a reader.
        private func command(_ language: Language) throws -> [String] {
            switch language {
            case .python: return ["python3", "tools/readers/oriel-record.py", "--dir", path]
            case .c: return [try Programs.recorder.get(), "--dir", path]
            }
        }

        /// Writes a block whose samples follow from its number: of one channel, or of two.
        private func write(_ number: UInt64, to writer: inout SoundWriter, at instant: Instant? = nil) throws {
            let channels = 1 + Int(number % 2)
            let samples = (0..<SoundBlock.samples * channels).map { Self.sample(number, $0) }
            try writer.write(
                samples.span,
                channels: channels,
                capturedAt: instant ?? MonotonicClock.now(),
                follows: false
            )
        }

        /// As many as samples of 16 bits tell apart.
        private static let distinctNumbers: UInt64 = 2048

        private static func sample(_ number: UInt64, _ index: Int) -> Int16 {
            Int16(truncatingIfNeeded: Int(number) * 32 + index % 32)
        }

        /// The numbers of the blocks of a recording, if all samples are theirs.
        private func numbers(of recording: String) throws -> [UInt64] {
            let bytes = try contents(of: recording)
            let header = 44
            #expect((bytes.count - header).isMultiple(of: SoundBlock.samples * 4))
            #expect(bytes[0..<4].elementsEqual("RIFF".utf8) && bytes[22] == 2 && bytes[34] == 16)
            var last: UInt64 = 0
            return stride(from: header, to: bytes.count, by: SoundBlock.samples * 4).map { start in
                let samples = bytes.withUnsafeBytes { bytes in
                    (0..<SoundBlock.samples * 2).map {
                        bytes.loadUnaligned(fromByteOffset: start + $0 * 2, as: Int16.self)
                    }
                }
                let number = last + (UInt64(UInt16(bitPattern: samples[0]) / 32) &- last) % Self.distinctNumbers
                last = number
                let isStereo = !number.isMultiple(of: 2)
                #expect(samples.indices.allSatisfy { samples[$0] == Self.sample(number, isStereo ? $0 : $0 / 2) })
                return number
            }
        }

        /// The figures that a reader printed: blocks, lost, generations.
        private func figures(_ output: String) -> [Int] {
            output.split(whereSeparator: { " =\n".contains($0) }).compactMap { Int($0) }
        }

        @Test(arguments: Language.allCases, FrameStorage.allCases)
        func everyBlockIsRecordedOrKnownAsLost(language: Language, storage: FrameStorage) throws {
            let recording = folder.file("sound.wav")
            let command = try command(language)
            var writer = try SoundWriter(in: BridgeDirectory(path: path, create: true), storage: storage)
            let reader = try Subprocess(command + ["--seconds", "3", recording])
            var number: UInt64 = 0
            func writeBlock() throws {
                number += 1
                try write(number, to: &writer)
                MonotonicClock.sleep(for: .milliseconds(5))
            }
            try wait(until: "it records", restsBetween: false) {
                try writeBlock()
                return access(recording, F_OK) == 0
            }
            try reader.suspend()
            for _ in 0..<200 { try writeBlock() }
            reader.kill(SIGCONT)
            while reader.status() == nil { try writeBlock() }
            #expect(try reader.wait() == .code(0), "\(reader.errorOutput)")
            let (numbers, figures) = (try numbers(of: recording), figures(reader.output))
            let gaps = zip(numbers, numbers.dropFirst()).map { Int($1) - Int($0) - 1 }
            #expect(gaps.allSatisfy { $0 >= 0 })
            #expect(figures == [numbers.count, gaps.reduce(0, +), 1], "\(reader.output)")
            #expect(figures.count == 3 && figures[0] > 100 && figures[1] > 0, "\(reader.output)")
        }

        @Test(arguments: Language.allCases, FrameStorage.allCases)
        func aListenerFollowsFromGenerationToGeneration(language: Language, storage: FrameStorage) throws {
            let recording = folder.file("sound.wav")
            let command = try command(language)
            let speak = [TestPrograms.bridgePeer, "speak", path, "storage=\(storage.rawValue)", "rate=100", "0"]
            let first = try Subprocess(speak)
            try first.wait(until: "there is sound") { first.output.contains("written=") }
            let reader = try Subprocess(command + ["--seconds", "5", recording])
            try wait(until: "it records") { access(recording, F_OK) == 0 }
            MonotonicClock.sleep(for: .seconds(1))
            first.kill(SIGKILL)
            try first.wait()
            let second = try Subprocess(speak)
            #expect(try reader.wait() == .code(0), "\(reader.errorOutput)")
            let figures = figures(reader.output)
            #expect(figures.count == 3 && figures[0] > 20 && figures[2] == 2, "\(reader.output)")
            second.kill(SIGKILL)
        }

        @Test(arguments: Language.allCases)
        func whatIsHiddenIsNotRecorded(language: Language) throws {
            let recording = folder.file("sound.wav")
            var writer = try SoundWriter(in: BridgeDirectory(path: path, create: true))
            let past = MonotonicClock.now()
            for number in UInt64(1)...3 { try write(number, to: &writer, at: past) }
            writer.hide(before: MonotonicClock.now())
            // One that was captured before, and is published after that.
            try write(4, to: &writer, at: past)
            let hidden = try CommandResult(try command(language) + ["--seconds", "0", recording])
            #expect(hidden.code == 75, "\(hidden.errorOutput)")
            #expect(hidden.errorOutput.hasPrefix("oriel-record: "))
            #expect(access(recording, F_OK) != 0)
            try write(5, to: &writer)
            #expect(try CommandResult(try command(language) + ["--seconds", "0", recording]).code == 0)
            #expect(try numbers(of: recording) == [5])
        }

        @Test(arguments: Language.allCases)
        func damagedSoundIsOneSentence(language: Language) throws {
            let command = try command(language)
            let bridge = try BridgeDirectory(path: path, create: true)
            var writer = try SoundWriter(in: bridge)
            try write(1, to: &writer)
            let names = try FileDescriptor.open(path, O_RDONLY | O_DIRECTORY).entries()
            let name = try #require(names.first { $0.hasPrefix("sound.") && $0 != "sound.lock" })
            let whole = try contents(of: "\(path)/\(name)")
            var random = SplitMix(seed: 5)
            for _ in 0..<(language == .python ? 20 : 60) {
                var damaged = whole
                for _ in 0..<4 {
                    let offset = Int.random(in: 0..<160, using: &random)
                    // Header, or the slot of the only block.
                    damaged[offset < 128 ? offset : 4096 + 2048 + offset - 128] = .random(in: 0...255, using: &random)
                }
                let file = try FileDescriptor.open("\(path)/\(name)", O_WRONLY)
                try file.write(damaged, at: 0)
                let result = try CommandResult(command + ["--seconds", "0", folder.file("a.wav")])
                #expect([0, 1, 75].contains(result.code))
                let sentences = result.errorOutput.split(separator: "\n").count
                #expect(result.code == 0 || sentences == 1, "\(result.errorOutput)")
            }
        }
    }
}
