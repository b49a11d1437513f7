import FrameBridge
import Glibc
import Posix
import TestSupport
import Testing
import Time

/// A picture whose every byte tells the frame's number, so that a torn one cannot pass.
func fill(_ planes: inout FramePlanes, _ byte: UInt8) {
    planes.withPlanes { luma, chroma in
        luma.withUnsafeMutableBytes { _ = memset($0.baseAddress!, Int32(byte), $0.count) }
        chroma.withUnsafeMutableBytes { _ = memset($0.baseAddress!, Int32(byte), $0.count) }
    }
}

/// The byte that fills both planes; nil when they hold more than one.
func uniformByte(_ frame: borrowing Frame) -> UInt8? {
    let first = frame.luma.unsafeLoad(fromByteOffset: 0, as: UInt8.self)
    func uniform(_ plane: RawSpan) -> Bool {
        plane.withUnsafeBytes { $0.count < 2 || memcmp($0.baseAddress!, $0.baseAddress! + 1, $0.count - 1) == 0 }
    }
    return uniform(frame.luma) && uniform(frame.chroma)
        && frame.chroma.unsafeLoad(fromByteOffset: 0, as: UInt8.self) == first ? first : nil
}

func info(_ width: Int, _ height: Int, capturedAt: Instant = MonotonicClock.now()) -> FrameInfo {
    FrameInfo(
        width: width,
        height: height,
        capturedAt: capturedAt,
        source: SourceRectangle(x: -5, y: 7, width: width, height: height),
        orientation: Orientation(quarterTurns: 3, isMirrored: true)
    )
}

@Suite struct BridgeTests {
    let folder = ScratchFolder()

    @Test(arguments: [FrameReader.Access.mapped, .copied])
    func aPublishedFrameIsRead(access: FrameReader.Access) throws {
        let directory = try folder.bridge()
        var writer = try FrameWriter(directory: directory, source: "screen", framesPerSecond: 30)
        var reader = try FrameReader(directory: directory, access: access)
        #expect(try reader.read { _ in } == .noFrame)
        #expect(try reader.liveness() == .live(.starting))

        try writer.publish(info(130, 34, capturedAt: .nanoseconds(42))) { fill(&$0, 9) }
        var seen: UInt8?
        var versions: [UInt32] = []
        let outcome = try reader.read { frame in
            seen = uniformByte(frame)
            for index in frame.tileVersions.indices { versions.append(frame.tileVersions[index]) }
        }
        guard case .frame(let read) = outcome else { throw Unexpected(outcome) }
        #expect(read.number == 1)
        #expect(read.capturedAt == .nanoseconds(42))
        #expect(try #require(read.publishedAt) > .nanoseconds(42))
        #expect(read.source == SourceRectangle(x: -5, y: 7, width: 130, height: 34))
        #expect(read.orientation == Orientation(quarterTurns: -1, isMirrored: true))
        #expect((read.width, read.height) == (130, 34))
        #expect(seen == 9)
        #expect(versions == [1, 1, 1])
        #expect(try reader.read { _ in } == .unchanged)
        #expect(try reader.liveness() == .live(.active))
        reader.forget()
        guard case .frame = try reader.read({ _ in }) else { throw Unexpected("unchanged") }
    }

    @Test func startingOverBeginsANewGeneration() throws {
        let directory = try folder.bridge()
        var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        var reader = try FrameReader(directory: directory)
        var infos: [FrameInfo] = []
        for number in 1...4 as ClosedRange<UInt8> {
            if number == 3 {
                writer.startOver()
                // Until there is another, the last picture stays.
                reader.forget()
                guard case .frame = try reader.read({ _ in }) else { throw Unexpected("the picture is gone") }
            }
            try writer.publish(info(64, 64)) { planes in
                #expect(planes.followsAnother == (number == 2 || number == 4))
                fill(&planes, number)
            }
            guard case .frame(let read) = try reader.read({ _ in }) else { throw Unexpected(number) }
            infos.append(read)
        }
        #expect(infos.map(\.number) == [1, 2, 3, 4])
        #expect(infos[0].generation == infos[1].generation)
        #expect(infos[1].generation != infos[2].generation)
        #expect(infos[2].generation == infos[3].generation)

        // What must go at once goes from the file that there is.
        writer.startOver()
        try writer.publish(info(64, 64), leavingNothingElse: true) { fill(&$0, 9) }
        guard case .frame(let slate) = try reader.read({ _ in }) else { throw Unexpected("no slate") }
        #expect(slate.generation == infos[3].generation)
        try writer.publish(info(64, 64)) { fill(&$0, 10) }
        guard case .frame(let next) = try reader.read({ _ in }) else { throw Unexpected("no picture") }
        #expect(next.generation != slate.generation)
    }

    @Test func aLargerPictureBeginsANewGenerationAndASmallerOneDoesNot() throws {
        let directory = try folder.bridge()
        var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        var reader = try FrameReader(directory: directory)
        var generations: Set<UInt64> = []
        for (number, size) in [(64, 64), (32, 32), (640, 480), (638, 2), (1000, 1000)].enumerated() {
            try writer.publish(info(size.0, size.1)) { fill(&$0, UInt8(number)) }
            generations.insert(try #require(try directory.status()).generation)
            var seen: UInt8?
            let outcome = try reader.read { seen = uniformByte($0) }
            guard case .frame(let read) = outcome else { throw Unexpected(outcome) }
            #expect((read.width, read.height) == size)
            #expect(read.number == UInt64(number + 1))
            #expect(seen == UInt8(number))
        }
        #expect(generations.count == 3)
        #expect(folder.files().filter { $0.hasPrefix("frames.") }.count == 1)
    }

    @Test func aReaderFollowsAWriterThatDiedAndCameBack() throws {
        let directory = try folder.bridge()
        var reader = try FrameReader(directory: directory)
        for round in 1...3 {
            var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
            try writer.publish(info(64, 64)) { fill(&$0, UInt8(round)) }
            var seen: UInt8?
            guard case .frame = try reader.read({ seen = uniformByte($0) }) else { throw Unexpected("no frame") }
            #expect(seen == UInt8(round))
            // Gone without a word: the lock is free, the status still says active.
            _ = consume writer
            // A program that another test starts has the lock until it runs.
            try wait(until: "the lock is free") { try !directory.hasWriter() }
            #expect(try reader.liveness() == .dead)
            #expect(try reader.read { _ in } == .unchanged)
        }
        #expect(folder.files().filter { $0.hasPrefix("frames.") }.count == 1)
    }

    @Test func stoppingSaysSoAndLeavesNoFrames() throws {
        let directory = try folder.bridge()
        var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        try writer.publish(info(64, 64)) { fill(&$0, 1) }
        try writer.setState(.paused, reason: "by hand")
        #expect(try directory.status()?.reason == "by hand")
        try writer.stop()
        #expect(try directory.status()?.state == .stopped)
        #expect(!folder.files().contains { $0.hasPrefix("frames.") || $0.hasPrefix(".") })
        // A program that another test starts has the lock until it runs.
        try wait(until: "the lock is free") { try !directory.hasWriter() }
        #expect(try BridgeInspection(directory).liveness == .stopped)
    }

    @Test func theSecondWriterIsRefused() throws {
        let directory = try folder.bridge()
        let writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        #expect(throws: BridgeError.alreadyRunning(path: directory.path, pid: getpid())) {
            _ = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        }
        try writer.stop()
        _ = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
    }

    @Test func theWriterKnowsWhetherAnybodyReads() throws {
        let directory = try folder.bridge()
        let writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        var watched = writer.hasReaders
        #expect(!watched)
        // A program that another test starts has the locks too until it runs.
        do {
            let reader = try FrameReader(directory: directory)
            let other = try FrameReader(directory: directory)
            watched = writer.hasReaders
            #expect(watched)
            _ = consume reader
            watched = writer.hasReaders
            #expect(watched)
            _ = consume other
        }
        try wait(until: "nobody reads") { !writer.hasReaders }
        try wait(until: "nobody reads") { try !directory.hasReaders() }
    }

    @Test(arguments: [(0, 2), (2, 0), (3, 2), (2, 3), (16386, 2), (-2, 2)])
    func sizesThatDoNotFitAreRefused(size: (Int, Int)) throws {
        var writer = try FrameWriter(directory: try folder.bridge(), source: "", framesPerSecond: 30)
        #expect(throws: BridgeError.invalidSize(width: size.0, height: size.1)) {
            try writer.publish(info(size.0, size.1)) { _ in }
        }
    }

    @Test func requestsAreTakenOnceAndRubbishIsDropped() throws {
        let directory = try folder.bridge()
        var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        func taken() -> BridgeRequest? { writer.takeRequest() }
        #expect(taken() == nil)
        let requests: [(String, BridgeRequest)] = [
            ("pause", .pause), ("freeze", .freeze), ("resume", .resume), ("stop", .stop),
            ("show monitor HDMI 1", .show("monitor HDMI 1")),
        ]
        for (line, request) in requests {
            folder.write("request", Array("\(line)\n".utf8))
            #expect(taken() == request)
            #expect(taken() == nil)
        }
        folder.write("request", Array("please\n".utf8))
        #expect(taken() == nil)
        #expect(!folder.files().contains("request"))
    }

    @Test func aReaderIsWokenByAFrame() throws {
        let directory = try folder.bridge()
        var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        var reader = try FrameReader(directory: directory)
        try writer.publish(info(64, 64)) { fill(&$0, 1) }
        _ = try reader.read { _ in }
        try writer.publish(info(64, 64)) { fill(&$0, 2) }
        // Published before the wait: must not sleep at all.
        reader.wait(until: Instant(nanoseconds: .max / 2))
        guard case .frame = try reader.read({ _ in }) else { throw Unexpected("no frame") }
    }
}

struct Unexpected: Error {
    let what: String

    init(_ what: Any) { self.what = "\(what)" }
}
