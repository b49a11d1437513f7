import Glibc
import Posix
import TestSupport
import Testing

@testable import Publishing

@Suite struct InstalledSoundsTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func make(_ path: String) throws {
        var place = folder.path
        for part in path.split(separator: "/").dropLast() {
            place += "/\(part)"
            mkdir(place, 0o700)
        }
        try FileDescriptor.open(folder.file(path), O_WRONLY | O_CREAT).write("x")
    }

    /// By their names. Those of the user come before those of the system.
    @Test func soundsOfThemesHaveNumbers() throws {
        for path in [
            "own/ding.wav", "own/bell.OGA", "system/theme/stereo/bell.oga", "system/theme/stereo/message.oga",
            "system/theme/index.theme", "system/.hidden/x.wav", "system/a/b/c/deep.wav", "own/.dot.wav", "own/noending",
            "own/two.parts.flac", "own/wav",
        ] { try make(path) }
        let sounds = InstalledSounds(in: [folder.file("own"), folder.file("system"), folder.file("missing")])
        #expect(sounds.all.map(\.name) == ["bell", "ding", "message", "two.parts"])
        #expect(sounds.all.first?.path == folder.file("own/bell.OGA"))
    }

    @Test func thereAreNoMoreThan255() throws {
        for number in 0..<300 { try make("many/\(1000 + number).wav") }
        try make("many/0\(String(repeating: "ä", count: 60)).wav")
        let sounds = InstalledSounds(in: [folder.file("many")])
        #expect(sounds.all.count == 255 && sounds.all[0].name == "0" + String(repeating: "ä", count: 47))
    }

    /// Folders may be links to each other.
    @Test func circlesEnd() throws {
        try make("circle/a.wav")
        symlink(folder.file("circle"), folder.file("circle/again"))
        let sounds = InstalledSounds(in: [folder.file("circle")])
        #expect(sounds.all.map(\.name) == ["a"])
    }
}
