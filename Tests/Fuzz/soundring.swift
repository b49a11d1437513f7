import FrameBridge
import Glibc
import Posix

/// A file of sound that somebody damages between two looks of its readers. The input's first byte says which checksums are made to
/// fit; the header's first 136 bytes follow, and then the metadata of slots: a byte for the slot, and 32 for it. What the input does
/// not have is as it was, and so is the generation.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    guard let flags = input.first else { return 0 }
    ring.restore()
    var readers = Readers()
    _ = readers.read(isNew: false)
    ring.damage(input.dropFirst(), fitsHeader: flags & 1 != 0, fitsSlots: flags & 2 != 0)
    for _ in 0..<4 {
        _ = readers.read(isNew: false)
        _ = readers.read(isNew: true)
    }
    _ = try? SoundInspection(ring.folder)
    return 0
}

private struct Readers: ~Copyable {
    private var old = SoundReader(directory: ring.folder)
    private var new = SoundReader(directory: ring.folder)
    private var last: UInt64 = 0

    init() {}

    mutating func read(isNew: Bool) -> SoundReader.Outcome {
        func check(_ block: SoundBlock, _ samples: Span<Int16>) {
            precondition(1...2 ~= block.channels && samples.count == SoundBlock.samples * block.channels)
            precondition(1...1 << 48 ~= block.number)
        }
        do throws(BridgeError) {
            let outcome = try isNew ? new.read(check) : old.read(check)
            if case .lost(let count) = outcome { precondition(1...1 << 48 ~= count) }
            if case .block(let block) = outcome, !isNew {
                precondition(block.number > last)
                last = block.number
            }
            return outcome
        } catch {
            precondition(!"\(error)".isEmpty)
            return .none
        }
    }
}

private final class Ring {
    let folder: BridgeDirectory
    private let file: FileDescriptor
    private let whole: [UInt8]

    init() throws {
        var template = Array(".build/fuzz/ring.XXXXXX".utf8CString)
        let path = template.withUnsafeMutableBufferPointer { String(cString: mkdtemp($0.baseAddress!)) }
        folder = try BridgeDirectory(path: path, create: false)
        var writer = try SoundWriter(in: folder)
        let samples = [Int16](repeating: 1, count: SoundBlock.samples * 2)
        for number in 1...200 {
            try writer.write(samples.span, channels: 2, capturedAt: MonotonicClock.now(), follows: number > 1)
        }
        let names = try FileDescriptor.open(path, O_RDONLY | O_DIRECTORY).entries()
        let name = path + "/" + names.first { $0.hasPrefix("sound.") && $0 != "sound.lock" }!
        whole = try FileDescriptor.open(name, O_RDONLY).readBytes(1 << 20)
        // The writer takes its own file away.
        _ = consume writer
        file = try FileDescriptor.open(name, O_RDWR | O_CREAT)
        try file.write(whole, at: 0)
    }

    func restore() { try! file.write(whole, at: 0) }

    func damage(_ input: ArraySlice<UInt8>, fitsHeader: Bool, fitsSlots: Bool) {
        var header = Array(input.prefix(136))
        header += whole[header.count..<136]
        header.replaceSubrange(24..<32, with: whole[24..<32])
        if fitsHeader { header.fit(0..<60, 60) }
        try! file.write(header, at: 0)
        var rest = input.dropFirst(136)
        while rest.count > 32 {
            var slot = Array(rest.dropFirst().prefix(32))
            if fitsSlots { slot.fit(8..<28, 28) }
            try! file.write(slot, at: 4096 + Int(rest.first! % 128) * 2048)
            rest = rest.dropFirst(33)
        }
    }
}

private nonisolated(unsafe) let ring = try! Ring()

extension [UInt8] {
    /// Puts the checksum of what it covers to its place.
    fileprivate mutating func fit(_ covered: Range<Int>, _ place: Int) {
        var sum = ~UInt32(0)
        for byte in self[covered] {
            sum ^= UInt32(byte)
            for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0x82F6_3B78 : sum >> 1 }
        }
        Swift.withUnsafeBytes(of: ~sum) { replaceSubrange(place..<place + 4, with: $0) }
    }
}
