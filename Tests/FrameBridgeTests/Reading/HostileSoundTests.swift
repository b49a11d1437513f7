import Glibc
import Posix
import TestSupport
import Testing
import Time

@testable import FrameBridge

/// Sound that somebody damaged, planted or cut. Nothing here may crash, hang, or let anybody hear what was not written.
@Suite struct HostileSoundTests {
    private let folder = ScratchFolder()

    private func soundFile() throws -> String {
        let name = folder.files().first { RingFile.generation(of: $0, in: SoundWriter.soundRing) != nil }
        return "\(folder.path)/\(try #require(name))"
    }

    /// Words of header and metadata take every kind of damage, half of the time with a checksum that fits: readers refuse, wait,
    /// pass over what may not be heard, or give blocks as they were.
    /// Invariant: untrustedFiles.
    @Test(arguments: [UInt64(1), 2, 3, 4])
    func mutatedHeadersAndSlotsNeverCrash(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let directory = try folder.bridge()
        var writer = try SoundWriter(in: directory)
        for number in UInt64(1)...200 { try writer.write(number) }
        let file = try FileDescriptor.open(soundFile(), O_RDWR)
        let original = try file.readBytes(1 << 20)
        var (refused, heard, lost) = (0, 0, UInt64(0))
        for _ in 0..<2_000 {
            let isHeader = Bool.random(using: &random)
            let slot = Bool.random(using: &random) ? 72 : Int.random(in: 0..<128, using: &random)
            let start = isHeader ? 0 : Layout.page + slot * SoundLayout.slotBytes
            var bytes = Array(original[start..<start + (isHeader ? 136 : SoundLayout.Slot.metadataBytes)])
            let width = [1, 2, 4, 8].randomElement(using: &random)!
            let offset = Int.random(in: 0..<bytes.count / width, using: &random) * width
            let value = [random.next(), 0, .max, .random(in: 0...1000, using: &random)].randomElement(using: &random)!
            withUnsafeBytes(of: value) { bytes.replaceSubrange(offset..<offset + width, with: $0.prefix(width)) }
            if Bool.random(using: &random) {
                let (covered, place) = isHeader ? (0..<60, 60) : (8..<28, 28)
                let sum = CRC32C.checksum(bytes.span.bytes.extracting(covered))
                withUnsafeBytes(of: sum) { bytes.replaceSubrange(place..<place + 4, with: $0) }
            }
            // One that has the newest block already, and a new one.
            var old = SoundReader(directory: directory)
            #expect(try old.next() != .none)
            try file.write(bytes, at: start)
            var new = SoundReader(directory: directory)
            for round in 0..<6 {
                do {
                    switch try round.isMultiple(of: 2) ? old.next() : new.next() {
                    case .block: heard += 1
                    case .lost(let count):
                        #expect(1...SoundLayout.mostBlocks ~= count)
                        lost = max(lost, count)
                    case .none: break
                    }
                } catch { refused += 1 }
            }
            _ = try SoundInspection(directory)
            try file.write(Array(original[start..<start + bytes.count]), at: start)
        }
        #expect(refused > 500 && heard > 500 && lost > 100)
    }

    @Test(arguments: [0, 1, 4095, 4096, 4096 + 2048 * 3 + 100, 9000])
    func aFileThatShrinksIsNoticedByReaderAndWriter(size: Int) throws {
        let directory = try folder.bridge()
        var writer = try SoundWriter(in: directory)
        var reader = SoundReader(directory: directory)
        try writer.write(1)
        #expect(try reader.numbers() == [1])
        for number in UInt64(2)...4 { try writer.write(number) }
        truncate(try soundFile(), off_t(size))
        #expect(throws: BridgeError.self) { _ = try reader.next() }
        #expect(try reader.next() == .none)
        // The writer finds out when it writes beyond the end.
        for number in UInt64(5)...100 { try writer.write(number) }
        // In a generation of its own, the fifth is the first.
        for number in UInt64(1)...96 {
            guard case .block(let block) = try reader.next(first: 4) else {
                Issue.record("block \(number) is not there")
                return
            }
            #expect(block.number == number)
        }
    }

    @Test func aSenderThatCannotMakeFilesIsToldThatItsOwnIsGone() throws {
        let directory = try folder.bridge()
        let sender = try ProcessFolder(.sender, in: directory)
        var writer = try SoundWriter(talkIn: sender)
        try writer.write(1)
        let names = try FileDescriptor.open(sender.path, O_RDONLY | O_DIRECTORY).entries()
        let talk = "\(sender.path)/\(try #require(names.first { $0.hasPrefix("talk.") }))"
        truncate(talk, 0)
        for _ in 0..<2 { #expect(throws: BridgeError.self) { try writer.write(2) } }
        writer.heartbeat()
        writer.hide(before: MonotonicClock.now())
        unlink(talk)
        rmdir(sender.path)
    }

    @Test(arguments: ["link", "fifo", "folder", "open"])
    func plantedFilesAreRefused(kind: String) throws {
        let directory = try folder.bridge()
        for name in ["sound.lock", "sound.0123456789abcdef"] {
            let path = "\(folder.path)/\(name)"
            switch kind {
            case "link": symlink("/etc/passwd", path)
            case "fifo": mkfifo(path, 0o600)
            case "folder": mkdir(path, 0o700)
            default: folder.write(name, [], mode: 0o644)
            }
            #expect(throws: BridgeError.self, "\(kind) \(name)") {
                if name == "sound.lock" {
                    _ = try SoundWriter(in: directory)
                } else {
                    var reader = SoundReader(directory: directory)
                    _ = try reader.next()
                }
            }
            if kind == "folder" { rmdir(path) } else { unlink(path) }
        }
    }

    /// Names that no generation has are nobody's.
    @Test(arguments: [
        "sound.lock", "sound.control", "sound.", "sound.0", "sound.0123456789ABCDEF", "sound.0123456789abcdefg",
        "sound.+123456789abcde", "frames.0123456789abcdef", ".sound.0123456789abcdef",
    ])
    func otherNamesAreNoGenerations(name: String) {
        #expect(RingFile.generation(of: name, in: "sound") == nil)
        #expect(RingFile.generation(of: "sound.0123456789abcdef", in: "sound") == 0x0123_4567_89AB_CDEF)
    }
}
