import Containers
import Glibc
import Media
import Posix
import TestSupport
import Testing
import Time

@testable import Recording

@Suite struct RecordingFolderTests {
    private let directory: TemporaryDirectory
    private let folder: RecordingFolder

    init() throws {
        directory = try TemporaryDirectory()
        folder = try RecordingFolder(directory.path)
    }

    @Test func recordingsAreListed() throws {
        try write("another.webm", "of another program")
        var whole = try begin("default-2026-11-29T11-25-03Z-motion")
        try whole.addPictures()
        _ = try whole.end()
        var part = try begin("demo")
        try part.addPictures()
        let list = folder.recordings()
        #expect(list.map(\.file) == ["default-2026-11-29T11-25-03Z-motion.webm", "demo.webm.part"])
        #expect(list.map(\.occasion) == ["motion", nil])
        #expect(list[0].lengthS != nil && list[1].lengthS == nil)
        #expect(list.allSatisfy { $0.bytes > 100 })
    }

    /// A recorder that is started again after a crash is as quiet as the one before.
    @Test func whatIsSwitchedOffStaysSo() throws {
        #expect(folder.kept(of: "default") == KeptState())
        let change = KeptState.Change(clips: ClipSettings(), version: 7)
        let changes = [KeptState(change: change), KeptState(change: KeptState.Change(clips: nil, version: 2))]
        let others = [KeptState(isPaused: true), KeptState(isMuted: true), KeptState(isPaused: true, isMuted: true)]
        for state in changes + others {
            try folder.keep(state, of: "default")
            #expect(folder.kept(of: "default") == state)
            #expect(folder.kept(of: "another") == KeptState())
        }
        try write(".default.recorder", "damaged")
        #expect(folder.kept(of: "default") == KeptState(isPaused: true, isMuted: true))
        for _ in 0..<2 { try folder.keep(KeptState(), of: "default") }
        #expect(access("\(directory.path)/.default.recorder", F_OK) != 0)
    }

    @Test func aFileHasItsNameOnceItIsWhole() throws {
        var begun = try begin("demo")
        try begun.addPictures()
        #expect(names == ["demo.webm.part"])
        let name = try begun.end()
        #expect(name == "demo.webm")
        #expect(names == ["demo.webm"])
    }

    @Test func aNameThatIsTakenGetsANumber() throws {
        try write("demo.webm", "another")
        try write("demo-2.webm.part", "and another")
        let name = try begin("demo").file.name
        #expect(name == "demo-3.webm")
        #expect(try read("demo.webm") == "another")
    }

    /// Nothing that was there is lost.
    @Test func aNameThatIsTakenMeanwhileStays() throws {
        var begun = try begin("demo")
        try begun.addPictures()
        try write("demo.webm", "another")
        let name = try begun.end()
        #expect(name == "demo-2.webm")
        #expect(try read("demo.webm") == "another")
    }

    @Test func whatADeadRecorderLeftIsMended() throws {
        do {
            var begun = try begin("demo")
            try begun.addPictures()
            // A part of a block, as of a recorder that was killed.
            try begun.file.append([0xA3, 0x90], [1, 2, 3])
        }
        _ = try begin("empty")
        try write("mine.webm.part", "a text that somebody has called so")
        mkdir(directory.file("folder.webm.part"), 0o700)
        symlink("/etc/passwd", directory.file("link.webm.part"))
        mkfifo(directory.file("pipe.webm.part"), 0o600)
        let mended = folder.mend()
        #expect(mended.contains(.repaired("demo.webm")))
        #expect(mended.contains(.removed("empty.webm")))
        #expect(
            names == [
                "demo.webm", "folder.webm.part", "link.webm.part", "mine.webm.part", "pipe.webm.part",
            ]
        )
        #expect(try read("mine.webm.part").hasPrefix("a text"))
        #expect(folder.mend().contains { if case .repaired = $0 { true } else { false } } == false)
    }

    @Test func aFileThatIsBeingWrittenStays() throws {
        var begun = try begin("demo")
        try begun.addPictures()
        #expect(try RecordingFolder(directory.path).mend() == [])
        let name = try begun.end()
        #expect(name == "demo.webm")
    }

    @Test func aFileThatCannotBeWrittenEndsWithWhatItHas() throws {
        var begun = try begin("demo")
        try begun.addPictures()
        let name = try begun.file.salvage()
        #expect(name == "demo.webm")
        #expect(names == ["demo.webm"])
    }

    /// Whatever their names are, files of other programs stay.
    @Test func onlyRecordingsAreRemoved() throws {
        for day in 1...3 {
            var begun = try begin("default-2026-11-0\(day)T00-00-00Z")
            try begun.addPictures()
            let name = try begun.end()
            var times = [timespec(tv_sec: 1_000_000 * day, tv_nsec: 0), timespec(tv_sec: 1_000_000 * day, tv_nsec: 0)]
            utimensat(AT_FDCWD, directory.file(name), &times, 0)
        }
        try write("default-2026-11-01T00-00-01Z.webm", "not a recording")
        try write("holiday.webm", "nor this")
        var retention = Retention()
        retention.age = .seconds(1_500_000)
        let removed = try folder.remove(by: retention, of: "default", writing: 0, now: 4_000_000)
        #expect(removed == ["default-2026-11-01T00-00-00Z.webm", "default-2026-11-02T00-00-00Z.webm"])
        #expect(
            names == ["default-2026-11-01T00-00-01Z.webm", "default-2026-11-03T00-00-00Z.webm", "holiday.webm"]
        )
    }

    /// The clock was set back: the oldest are dated later than now, and by their names too.
    @Test func whatIsDatedInTheFutureIsTheOldest() throws {
        var retention = Retention()
        retention.bytes = 0
        for day in 1...4 {
            var begun = try begin("default-20\(day < 3 ? "46" : "26")-11-0\(day)T00-00-00Z")
            try begun.addPictures()
            let name = try begun.end()
            let time = timespec(tv_sec: (day < 3 ? 700_000_000 : 1_000_000) + day, tv_nsec: 0)
            var times = [time, time]
            utimensat(AT_FDCWD, directory.file(name), &times, 0)
            var info = stat()
            stat(directory.file(name), &info)
            // Room for the last two.
            if day > 2 { retention.bytes! += UInt64(info.st_blocks) * 512 }
        }
        let removed = try folder.remove(by: retention, of: "default", writing: 0, now: 1_000_100)
        #expect(removed == ["default-2046-11-01T00-00-00Z.webm", "default-2046-11-02T00-00-00Z.webm"])
    }

    /// A date that is later by a minute is that of a clock which was corrected.
    @Test(arguments: [(60, ["a", "b"]), (61, ["b", "a"])]) func aDateJustAheadIsYoung(seconds: Int, order: [String])
        throws
    {
        for (name, time) in [("a", 1_000_000 - 10), ("b", 1_000_000 + seconds)] {
            var begun = try begin("default-2026-11-01T00-00-0\(name == "a" ? 1 : 2)Z")
            try begun.addPictures()
            let file = try begun.end()
            var times = [timespec(tv_sec: time, tv_nsec: 0), timespec(tv_sec: time, tv_nsec: 0)]
            utimensat(AT_FDCWD, directory.file(file), &times, 0)
        }
        var retention = Retention()
        retention.bytes = 0
        let removed = try folder.remove(by: retention, of: "default", writing: 0, now: 1_000_000)
        #expect(removed.map { $0.hasSuffix("1Z.webm") ? "a" : "b" } == order)
    }

    /// A file with its writer.
    private struct Begun: ~Copyable {
        var file: PartFile
        var writer: WebMWriter

        mutating func addPictures() throws {
            for second in 0..<2 {
                let addition = writer.add([1, 2, 3], to: .picture, at: .seconds(second), isKeyframe: second == 0)
                if let patch = addition.patch { try file.apply(patch) }
                try file.append(addition.head, [1, 2, 3])
            }
        }

        /// Returns its name.
        consuming func end() throws -> String {
            let end = writer.end(at: .seconds(2))
            return try file.end(try #require(end))
        }
    }

    private func begin(_ base: String) throws -> Begun {
        let tracks = WebMTracks(codec: .vp8, dimensions: (64, 48), av1: nil, sound: nil)
        let (writer, head) = WebMWriter.begin(tracks, title: nil, date: 0)
        var file = try folder.create(base)
        try file.append(head, [])
        return Begun(file: file, writer: writer)
    }

    private var names: [String] {
        (try? FileDescriptor.open(directory.path, O_RDONLY | O_DIRECTORY).entries().filter { !$0.hasPrefix(".") }
            .sorted()) ?? []
    }

    private func write(_ name: String, _ text: String) throws {
        try FileDescriptor.open(directory.file(name), O_WRONLY | O_CREAT | O_TRUNC).write(text)
    }

    private func read(_ name: String) throws -> String {
        String(decoding: try FileDescriptor.open(directory.file(name), O_RDONLY).readBytes(4096), as: UTF8.self)
    }
}
