import Glibc
import Pixels
import Posix
import Rendering
import Synchronization
import TestSupport
import Testing
import Time

@Suite struct Y4MTests {
    private static func picture(_ width: Int, _ height: Int, luma: UInt8) -> PlanarPicture {
        var picture = PlanarPicture()
        var isLuma = true
        picture.read(PixelSize(width: width, height: height)) { plane in
            plane.initializeMemory(as: UInt8.self, repeating: isLuma ? luma : 128)
            isLuma = false
        }
        return picture
    }

    private func text(_ path: String) throws -> [UInt8] {
        try FileDescriptor.open(path, O_RDONLY).readBytes(1 << 20)
    }

    private static let header = Array(
        "YUV4MPEG2 W16 H8 F30:1 Ip A1:1 C420mpeg2 XYSCSS=420MPEG2 XCOLORRANGE=LIMITED\n".utf8
    )

    /// As Oriel does at its start: a writer may lose its reader at any time.
    init() { signal(SIGPIPE, SIG_IGN) }

    /// Pictures of another size are scaled to the first one's, with bars.
    @Test func aFileHasOneSize() throws {
        let folder = try TemporaryDirectory()
        let path = folder.file("out.y4m")
        let output = try Y4MOutput(
            to: FileDescriptor.open(path, O_WRONLY | O_CREAT),
            onSizeChange: .scales
        ) { Issue.record("\($0)") }
        let size = 16 * 8 * 3 / 2
        for (width, height, count) in [(16, 8, 1), (32, 32, 2)] {
            var picture = Self.picture(width, height, luma: 200)
            output.show(&picture)
            try wait(until: "it is written") {
                try text(path).count == Self.header.count + count * (Y4MHeader.frame.count + size)
            }
        }
        output.close(until: MonotonicClock.now() + patience)
        let bytes = try text(path)
        #expect(bytes.starts(with: Self.header + Y4MHeader.frame + Array(repeating: 200, count: 128)))
        let luma = Array(bytes.suffix(size).prefix(128))
        for row in 0..<8 {
            #expect(
                Array(luma[16 * row..<16 * row + 16])
                    == Array(repeating: 16, count: 4) + Array(repeating: 200, count: 8) + Array(repeating: 16, count: 4)
            )
        }
    }

    /// A reader that does not read misses pictures, and gets the newest one whole; nobody waits for it.
    /// Invariant: untrustedMedia.
    @Test func aSlowReaderMissesPictures() throws {
        let pipe = try Pipe()
        let raw = dup(pipe.writing.raw)
        let output = try Y4MOutput(to: FileDescriptor(taking: raw), onSizeChange: .beginsAnew) {
            Issue.record("\($0)")
        }
        // More than a pipe holds.
        for luma in 20...120 as ClosedRange<UInt8> {
            var picture = Self.picture(640, 480, luma: luma)
            output.show(&picture)
        }
        _ = fcntl(pipe.reading.raw, F_SETFL, O_NONBLOCK)
        var input = Y4MInput(FileDescriptor(taking: dup(pipe.reading.raw)))
        var picture = PlanarPicture()
        var seen: [UInt8] = []
        try wait(until: "the newest one comes") {
            if try input.read(into: &picture) { seen.append(picture.y[0]) }
            return seen.last == 120
        }
        #expect(seen == seen.sorted() && seen.count < 101)
        // Another size begins another stream.
        var small = Self.picture(16, 8, luma: 50)
        output.show(&small)
        try wait(until: "it comes") { try input.read(into: &picture) }
        #expect(picture == Self.picture(16, 8, luma: 50))
        output.clear()
        try wait(until: "black comes") { try input.read(into: &picture) }
        #expect(picture == Self.picture(16, 8, luma: 16))
        output.close(until: MonotonicClock.now() + patience)
    }

    /// The only picture may be with the writer just then.
    @Test func blackComesAfterThePictureThatIsWritten() throws {
        let pipe = try Pipe()
        let output = try Y4MOutput(to: FileDescriptor(taking: dup(pipe.writing.raw)), onSizeChange: .scales) {
            Issue.record("\($0)")
        }
        // More than a pipe holds: when its beginning is there, its end is not written.
        var picture = Self.picture(640, 480, luma: 50)
        output.show(&picture)
        waitReadable(pipe.reading.raw, until: MonotonicClock.now() + patience)
        output.clear()
        _ = fcntl(pipe.reading.raw, F_SETFL, O_NONBLOCK)
        var input = Y4MInput(FileDescriptor(taking: dup(pipe.reading.raw)))
        var seen: [UInt8] = []
        try wait(until: "black comes") {
            if try input.read(into: &picture) { seen.append(picture.y[0]) }
            return seen.last == 16
        }
        #expect(seen == [50, 16])
        output.close(until: MonotonicClock.now() + patience)
    }

    @Test func aReaderThatGoesIsTold() throws {
        let told = Mutex<SystemError?>(nil)
        let pipe = try Pipe()
        let output = try Y4MOutput(to: FileDescriptor(taking: dup(pipe.writing.raw)), onSizeChange: .scales) { error in
            told.withLock { $0 = error }
        }
        _ = consume pipe
        var picture = Self.picture(16, 8, luma: 50)
        output.show(&picture)
        try wait(until: "it is told") { told.withLock { $0?.code } == EPIPE }
        try wait(until: "no more is taken") { !output.show(&picture) }
        output.close(until: MonotonicClock.now() + patience)
    }

    /// A pipe that nobody reads does not keep the program from ending.
    @Test func closingDoesNotWaitForAReader() throws {
        let pipe = try Pipe()
        let output = try Y4MOutput(to: FileDescriptor(taking: dup(pipe.writing.raw)), onSizeChange: .scales) { _ in }
        var picture = Self.picture(640, 480, luma: 50)
        output.show(&picture)
        output.close(until: MonotonicClock.now() + .milliseconds(50))
    }

    @Test(
        arguments: [
            "YUV4MPEG2 W16 H8 F30:1 C420mpeg2", "YUV4MPEG2 W4096 H2 C420mpeg2",
        ]
    )
    func headers(line: String) { #expect(Y4MHeader(parsing: line) != nil) }

    @Test(
        arguments: [
            "", "FRAME", "YUV4MPEG2", "YUV4MPEG2 W16 C420mpeg2", "YUV4MPEG2 W15 H8 C420mpeg2",
            "YUV4MPEG2 W16 H8 C444", "YUV4MPEG2 W4098 H8 C420mpeg2", "YUV4MPEG2 W-2 H8 C420mpeg2",
            "YUV4MPEG2 W99999999999999999999 H8 C420mpeg2",
        ]
    )
    func otherLines(line: String) { #expect(Y4MHeader(parsing: line) == nil) }

    /// Whatever a sender that was taken over writes to its window.
    @Test func strangeStreamsAreRefused() throws {
        for bytes in [Array("hello\n".utf8), Array("FRAME\n".utf8), [UInt8](repeating: 65, count: 1000)] {
            let pipe = try Pipe()
            let raw = pipe.writing.raw
            #expect(bytes.withUnsafeBytes { write(raw, $0.baseAddress, $0.count) } == bytes.count)
            _ = fcntl(pipe.reading.raw, F_SETFL, O_NONBLOCK)
            var input = Y4MInput(FileDescriptor(taking: dup(pipe.reading.raw)))
            var picture = PlanarPicture()
            var isRefused = false
            do { _ = try input.read(into: &picture) } catch is Y4MInput.Malformed { isRefused = true }
            #expect(isRefused)
        }
    }
}
