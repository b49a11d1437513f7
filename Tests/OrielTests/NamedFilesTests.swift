import Glibc
import Posix
import Synchronization
import Testing

@testable import oriel

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

    /// A process that reads, played by the test: it answers once, and is killed before or after it is asked again.
    @Test(arguments: [false, true]) func aProcessThatDiesIsToldOnce(isAsked: Bool) throws {
        signal(SIGPIPE, SIG_IGN)
        let told = Mutex<[NamedFiles.End]>([])
        let (asking, answering) = (try openPipe(), try openPipe())
        let files = try NamedFiles(
            ["c.pem", "k.pem"],
            "the certificate",
            asking: FileDescriptor(taking: asking.writing),
            answering: FileDescriptor(taking: answering.reading)
        ) { end in
            told.withLock { $0.append(end) }
        }
        let answer = FileAnswers.bytes(1, [[1], nil])
        #expect(write(answering.writing, answer, answer.count) == answer.count)
        #expect(files.read() == [[1], nil])
        #expect(told.withLock(\.isEmpty))
        close(answering.writing)
        // A pipe with a reading end takes the question.
        if !isAsked { close(asking.reading) }
        for _ in 0..<3 { #expect(files.read() == nil) }
        if isAsked { close(asking.reading) }
        let ends = told.withLock(\.self)
        #expect(ends.map(\.files) == [["c.pem", "k.pem"]])
        #expect(ends.first?.sentence.contains("the process that reads the certificate again has ended") ?? false)
    }
}
