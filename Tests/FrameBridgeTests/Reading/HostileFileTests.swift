import Glibc
import Posix
import TestSupport
import Testing

@testable import FrameBridge

/// Files that somebody damaged, planted or made too open. Nothing here may crash, hang, or show a torn picture.
@Suite struct HostileFileTests {
    let folder = ScratchFolder()

    @Test(arguments: [0, 1, 4095, 4096, 9000, 20000])
    func aFileThatShrinksIsNoticedByReaderAndWriter(size: Int) throws {
        let directory = try folder.bridge()
        var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        var reader = try FrameReader(directory: directory)
        try writer.publish(info(256, 256)) { fill(&$0, 1) }
        _ = try reader.read { _ in }
        reader.forget()
        truncate(folder.framesFile()!, off_t(size))
        // At 20000 bytes the slot of the latest frame may be gone or whole; either is fine, a crash is not.
        do {
            _ = try reader.read { _ = uniformByte($0) }
        } catch {
            guard case .damaged = error else { throw error }
        }
        // The writer finds out at a publish at the latest when the slot it writes lies behind the new end.
        for byte in 2...5 as ClosedRange<UInt8> { try writer.publish(info(256, 256)) { fill(&$0, byte) } }
        var seen: UInt8?
        for _ in 0..<3 where seen == nil {
            reader.forget()
            _ = try? reader.read { seen = uniformByte($0) }
        }
        #expect(seen == 5)
        #expect(try reader.liveness() == .live(.active))
    }

    @Test func shrinkingInTheMiddleOfAReadIsNoticed() throws {
        let directory = try folder.bridge()
        var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        try writer.publish(info(512, 512)) { fill(&$0, 1) }
        for access in [FrameReader.Access.mapped, .copied] {
            var reader = try FrameReader(directory: directory, access: access)
            var shrunk = false
            let result = Result {
                try reader.read { frame in
                    if access == .mapped { truncate(folder.framesFile()!, 4096) }
                    shrunk = uniformByte(frame) != 1
                }
            }
            if access == .mapped { #expect(shrunk) }
            #expect(throws: BridgeError.self) { try result.get() }
        }
    }

    @Test func aNewerLayoutIsNamed() throws {
        let directory = try folder.bridge()
        var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        try writer.publish(info(64, 64)) { fill(&$0, 1) }
        var header = [UInt8](repeating: 0, count: 64)
        let file = open(folder.framesFile()!, O_RDWR)
        pread(file, &header, 64, 0)
        header[Layout.Header.major] = UInt8(Layout.major + 1)
        let sum = CRC32C.checksum(header.span.bytes.extracting(..<60))
        withUnsafeBytes(of: sum) { header.replaceSubrange(60..<64, with: $0) }
        pwrite(file, header, 64, 0)
        close(file)
        var reader = try FrameReader(directory: directory)
        #expect(
            throws: BridgeError.newerLayout(
                path: folder.framesFile()!,
                found: Int(Layout.major) + 1,
                supported: Int(Layout.major)
            )
        ) {
            try reader.read { _ in }
        }
    }

    /// Every byte of header and metadata takes every kind of damage; the reader may refuse, wait, or show the picture
    /// as it was, and nothing else.
    /// Invariant: untrustedFiles.
    @Test(arguments: [UInt64(1), 2, 3, 4])
    func mutatedHeadersAndSlotsNeverCrash(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let directory = try folder.bridge()
        var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        try writer.publish(info(64, 64)) { fill(&$0, 7) }
        let path = folder.framesFile()!
        let slot = 4096 + 1 * SlotPlan(width: 64, height: 64)!.byteCount
        let file = open(path, O_RDWR)
        defer { close(file) }
        var original = [UInt8](repeating: 0, count: slot + 4096)
        #expect(pread(file, &original, original.count, 0) == original.count)
        var refused = 0
        for round in 0..<8_000 {
            let area = Bool.random(using: &random) ? 0..<340 : slot..<slot + 128
            let offset = Int.random(in: area, using: &random)
            let width = [1, 2, 4, 8].randomElement(using: &random)!
            var value = random.next()
            pwrite(file, &value, width, off_t(offset))
            // The state word saying `retired` only sends the reader to the status file: same file again.
            var reader = try FrameReader(directory: directory, access: round.isMultiple(of: 16) ? .copied : .mapped)
            var seen: UInt8? = 7
            do {
                if case .frame = try reader.read({ seen = uniformByte($0) }) {
                    #expect(seen == 7 || seen == nil)
                }
            } catch { refused += 1 }
            _ = try? reader.liveness()
            _ = try? BridgeInspection(directory)
            pwrite(file, Array(original[offset..<min(offset + width, original.count)]), width, off_t(offset))
        }
        #expect(refused > 1500)
    }

    @Test(arguments: ["link", "fifo", "folder", "open"])
    func plantedFilesAreRefused(kind: String) throws {
        let directory = try folder.bridge()
        for name in ["writer.lock", "reader.lock", "status"] {
            let path = "\(folder.path)/\(name)"
            switch kind {
            case "link": symlink("/etc/passwd", path)
            case "fifo": mkfifo(path, 0o600)
            case "folder": mkdir(path, 0o700)
            default: folder.write(name, [], mode: 0o644)
            }
            #expect(throws: BridgeError.self, "\(kind) \(name)") {
                if name == "reader.lock" {
                    _ = try FrameReader(directory: directory)
                } else if name == "status" {
                    _ = try directory.status()
                } else {
                    _ = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
                }
            }
            if kind == "folder" { rmdir(path) } else { unlink(path) }
        }
    }

    @Test func aFolderThatOthersMayUseIsRefused() throws {
        mkdir(folder.path, 0o700)
        chmod(folder.path, 0o770)
        #expect(throws: BridgeError.notPrivate(path: folder.path, problem: "is open to others")) {
            _ = try BridgeDirectory(path: folder.path, create: false)
        }
        chmod(folder.path, 0o700)
        chmod(folder.root, 0o777)
        #expect(throws: BridgeError.notPrivate(path: folder.root, problem: "can be written by others")) {
            _ = try BridgeDirectory(path: folder.path, create: true)
        }
    }

    @Test func aFolderThatIsNotThereIsNamed() {
        #expect(throws: BridgeError.noBroadcast(path: folder.path)) {
            _ = try BridgeDirectory(path: folder.path, create: false)
        }
        #expect(throws: BridgeError.self) {
            _ = try BridgeDirectory(path: folder.root + "/a/b/c", create: true)
        }
    }

    @Test(arguments: ["", ".", "..", "a/b", ".hidden", "naïve", String(repeating: "x", count: 65)])
    func namesThatCouldLeaveTheFolderAreRefused(name: String) {
        #expect(throws: BridgeError.invalidName(name)) { try BridgeDirectory.defaultPath(name: name) }
    }
}
