import Glibc
import Helpers
import Posix
import Testing

@Suite struct LineReaderTests {
    private static let text = "one\n\n\u{E9}t\u{E9}\n" + String(repeating: "x", count: 5000) + "\nrest"

    @Test(arguments: [1, 2, 5, 4096, 100_000]) func linesComeInPieces(size: Int) {
        let bytes = Array(Self.text.utf8)
        var reader = LineReader(longest: 5000)
        var lines: [String] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            lines += reader.take(bytes[start..<min(start + size, bytes.count)])
            #expect(!reader.isTooLong)
        }
        #expect(lines == ["one", "", "\u{E9}t\u{E9}", String(repeating: "x", count: 5000)])
        #expect(reader.take("!\n".utf8) == ["rest!"])
    }

    @Test func aLineMayBeTooLong() {
        var reader = LineReader(longest: 4)
        #expect(reader.take("a\n1234".utf8) == ["a"])
        #expect(!reader.isTooLong)
        #expect(reader.take("5".utf8) == [] && reader.isTooLong)
        reader.forget()
        #expect(!reader.isTooLong)
        #expect(reader.take("b\n".utf8) == ["b"])
    }

    @Test func bytesThatAreNoTextAreReplaced() {
        var reader = LineReader(longest: 100)
        #expect(reader.take([0x61, 0xFF, 0x0A, 0x62, 0x0A]) == ["a\u{FFFD}", "b"])
    }

    @Test func aPipeIsReadUntilItsEnd() throws {
        let (reading, writing) = try openPipe()
        defer { close(reading) }
        try check("fcntl") { fcntl(reading, F_SETFL, O_NONBLOCK) }
        var reader = LineReader(longest: 100)
        var pieces = [try reader.read(from: reading)]
        try check("write") { write(writing, "ab\nc", 4) }
        pieces.append(try reader.read(from: reading, limit: 2))
        pieces.append(try reader.read(from: reading))
        close(writing)
        #expect(pieces == [[], [], ["ab"]] && !reader.hasEnded)
        #expect(try reader.read(from: reading) == [] && reader.hasEnded)
        #expect(throws: SystemError.self) { try reader.read(from: -1) }
    }
}
