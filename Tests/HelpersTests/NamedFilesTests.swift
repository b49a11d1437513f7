import TestSupport
import Testing

@testable import Helpers

@Suite struct NamedFilesTests {
    private static let answers: [(number: UInt8, files: [[UInt8]?])] = [
        (7, [Array("one".utf8), nil]), (8, [[], [UInt8](repeating: 9, count: 5000)]), (255, [nil, nil]),
    ]

    /// One to an earlier question may come late, so each has its number.
    @Test(arguments: [1, 2, 5, 4096, 100_000])
    func answersComeInPieces(size: Int) throws {
        let bytes = Self.answers.flatMap { FileAnswers.bytes($0.number, $0.files) }
        var received = FileAnswers(fileCount: 2)
        var read: [(number: UInt8, files: [[UInt8]?])] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            received.take(Array(bytes[start..<min(start + size, bytes.count)]))
            while let answer = received.next() { read.append(answer) }
        }
        #expect(read.map(\.number) == Self.answers.map(\.number))
        #expect(read.map(\.files) == Self.answers.map(\.files))
    }

    /// It is killed before or after it has read the question.
    @Test(arguments: [false, true]) func aProcessThatDiesIsToldOnce(isAsked: Bool) throws {
        let reader = try PlayedReader(["c.pem", "k.pem"], "the certificate")
        try reader.answer([[1], nil])
        #expect(reader.files.read() == [[1], nil])
        #expect(reader.ends.isEmpty)
        reader.stopAnswering()
        if !isAsked { reader.stopReading() }
        for _ in 0..<3 { #expect(reader.files.read() == nil) }
        #expect(reader.ends.map(\.files) == [["c.pem", "k.pem"]])
        let sentence = reader.ends.first?.sentence ?? ""
        #expect(sentence.hasPrefix("the process that reads the certificate again has ended: "))
    }
}
