import Glibc
import Posix
import Testing
import Time

@testable import FrameBridge

/// What other programs, and people, do to the files of a live bridge.
@Suite struct MishapTests {
    let folder = ScratchFolder()

    @Test(arguments: ["removed", "shrunk"])
    func aFramesFileThatIsGoneIsNoticedAndReplaced(how: String) throws {
        let directory = try folder.bridge()
        var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        var reader = try FrameReader(directory: directory)
        try writer.publish(info(64, 64)) { fill(&$0, 1) }
        guard case .frame(let first) = try reader.read({ _ in }) else { throw Unexpected("no frame") }
        let isWhole = writer.heartbeat()
        #expect(isWhole)
        let file = try #require(folder.framesFile())
        if how == "removed" { unlink(file) } else { truncate(file, 4096) }
        let later = MonotonicClock.now() + .milliseconds(510)
        let answers = [writer.heartbeat(at: later), writer.heartbeat(at: later)]
        #expect(answers == [false, true])

        try writer.publish(info(64, 64)) { fill(&$0, 2) }
        var late = try FrameReader(directory: directory)
        guard case .frame(let second) = try late.read({ _ in }) else { throw Unexpected("no frame") }
        #expect(second.generation != first.generation)
        #expect(second.number > first.number)
        // The first reader may have to learn of its loss before it follows.
        var outcome = FrameReader.Outcome.noFrame
        for _ in 0..<2 where outcome == .noFrame {
            if let found = try? reader.read({ _ in }) { outcome = found }
        }
        #expect(outcome == .frame(second))
    }

    /// Of the page in which a file is cut, the rest reads as zeros, and nothing faults.
    @Test func aFileThatIsCutWithinItsLastPageIsNotBelieved() throws {
        let directory = try folder.bridge()
        var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        var reader = try FrameReader(directory: directory)
        for byte in UInt8(1)...3 { try writer.publish(info(64, 64)) { fill(&$0, byte) } }
        let file = try #require(folder.framesFile())
        let size = try Int(FileDescriptor.open(file, O_RDONLY).status().st_size)
        truncate(file, size - 1)
        do {
            let outcome = try reader.read { _ in }
            Issue.record("\(outcome)")
        } catch {
            guard case .damaged = error else { throw error }
        }
    }

    @Test func nothingOfEarlierPicturesStaysWhenThatIsAskedFor() throws {
        let directory = try folder.bridge()
        var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        for byte in UInt8(1)...5 { try writer.publish(info(64, 64)) { fill(&$0, byte) } }
        try writer.publish(info(64, 64), leavingNothingElse: true) { fill(&$0, 200) }
        let bytes = try FileDescriptor.open(#require(folder.framesFile()), O_RDONLY).readBytes(1 << 20)
        let plan = try #require(SlotPlan(width: 64, height: 64))
        for slot in 0..<Layout.slotCount {
            let start = Layout.page + slot * plan.byteCount
            #expect(bytes[(start + plan.lumaOffset)...].prefix(plan.stride * 64).allSatisfy { $0 == 200 })
            #expect(bytes[(start + plan.chromaOffset)...].prefix(plan.stride * 32).allSatisfy { $0 == 200 })
        }
    }

    /// A relay publishes while it reads; the file that it reads from may shrink meanwhile.
    @Test func aRelaySurvivesTheLossOfWhatItReads() throws {
        let source = try folder.bridge()
        let other = ScratchFolder()
        let target = try other.bridge()
        var writer = try FrameWriter(directory: source, source: "", framesPerSecond: 30)
        try writer.publish(info(256, 256)) { fill(&$0, 7) }
        var relay = try FrameWriter(directory: target, source: "", framesPerSecond: 30)
        try relay.publish(info(256, 256)) { fill(&$0, 0) }
        var reader = try FrameReader(directory: source)
        let file = try #require(folder.framesFile())
        #expect(throws: BridgeError.self) {
            try reader.read { frame in
                do {
                    try relay.publish(info(256, 256)) { planes in
                        fill(&planes, 1)
                        truncate(file, 4096)
                        _ = uniformByte(frame)
                        fill(&planes, 2)
                    }
                } catch {
                    Issue.record(error)
                }
                // The inner guard is gone, the outer one is not.
                _ = uniformByte(frame)
            }
        }
        var relayed = try FrameReader(directory: target)
        var byte: UInt8?
        guard case .frame = try relayed.read({ byte = uniformByte($0) }) else { throw Unexpected("no frame") }
        #expect(byte == 2)
    }

    @Test func aRequestFromAShellScriptIsTaken() throws {
        var writer = try FrameWriter(directory: folder.bridge(), source: "", framesPerSecond: 30)
        folder.write("request", Array("pause\n".utf8), mode: 0o644)
        let taken = writer.takeRequest()
        #expect(taken == .pause)
        #expect(!folder.files().contains("request"))
    }

    @Test(arguments: ["link", "pipe", "folder", "rubbish", "empty"])
    func whatIsNoRequestIsRemovedAndIgnored(kind: String) throws {
        let directory = try folder.bridge()
        var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        let path = directory.path(of: "request")
        switch kind {
        case "link": symlink("/etc/passwd", path)
        case "pipe": mkfifo(path, 0o600)
        case "folder": mkdir(path, 0o700)
        case "rubbish": folder.write("request", [0, 255] + Array("pausepause".utf8))
        default: folder.write("request", [])
        }
        let taken = writer.takeRequest()
        #expect(taken == nil)
        #expect(!folder.files().contains("request"))
    }

    @Test func aRuntimeDirectoryThatOthersCanWriteIsRefused() throws {
        let path = try folder.bridge().path
        try BridgeDirectory.checkUnshared(path)
        chmod(path, 0o770)
        #expect(throws: BridgeError.notPrivate(path: path, problem: "can be written by others")) {
            try BridgeDirectory.checkUnshared(path)
        }
    }

    @Test func aDamagedFramesFileDoesNotHideTheRest() throws {
        let directory = try folder.bridge()
        var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        try writer.publish(info(64, 64)) { fill(&$0, 1) }
        truncate(try #require(folder.framesFile()), 100)
        let inspection = try BridgeInspection(directory)
        #expect(inspection.liveness == .live(.active))
        #expect(inspection.problem != nil)
        #expect(inspection.slots.isEmpty)
        _ = writer.heartbeat()
    }
}
