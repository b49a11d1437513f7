import FrameBridge
import Glibc
import Posix

/// Damages header and slots of the present frames file `count` times, by a seed, and reads it each time: some damage to some
/// field, and every other time a checksum that fits it, so that it is not the checksum alone that helps. Whatever is read
/// must be refused, or lie within the file.
func mutate(_ directory: BridgeDirectory, _ options: Options) throws {
    var random = Drand48(seed: options["seed", default: 1])
    guard let generation = try directory.status()?.generation else { exit(64) }
    let name = String(generation, radix: 16)
    let path = "\(directory.path)/frames." + String(repeating: "0", count: 16 - name.count) + name
    let file = try FileDescriptor.open(path, O_RDWR)
    let original = try file.readBytes(1 << 20)
    let slots = (0..<3).map { 4096 + $0 * (original.count - 4096) / 3 }
    let raw = file.raw
    var (shown, refused, sum): (Int, Int, UInt64) = (0, 0, 0)
    for round in 0..<options["count", default: 1000] {
        let isHeader = Bool.random(using: &random)
        let start = isHeader ? 0 : slots.randomElement(using: &random)!
        var page = Array(original[start..<start + 128])
        page.damage(isHeader ? (0..<60, 60) : (8..<120, 120), &random)
        pwrite(raw, page, page.count, off_t(start))
        do {
            var reader = try FrameReader(directory: directory)
            let outcome = try reader.read { frame in
                // Every byte that is said to be there, at its ends.
                for plane in [frame.luma.byteCount, frame.chroma.byteCount] { sum &+= UInt64(plane) }
                sum &+= UInt64(frame.luma.unsafeLoad(fromByteOffset: frame.luma.byteCount - 1, as: UInt8.self))
                sum &+= UInt64(frame.chroma.unsafeLoad(fromByteOffset: frame.chroma.byteCount - 1, as: UInt8.self))
                sum &+= UInt64(frame.tileVersions[frame.tileVersions.count - 1])
                frame.forEachChange(after: nil) { columns, _ in sum &+= UInt64(columns.count) }
            }
            if case .frame = outcome { shown += 1 }
            if round.isMultiple(of: 16) {
                _ = try reader.liveness()
                _ = try BridgeInspection(directory)
            }
        } catch {
            refused += 1
        }
        pwrite(raw, Array(original[start..<start + 128]), 128, off_t(start))
    }
    say("shown=\(shown) refused=\(refused) sum=\(sum & 1)")
}

/// Likewise for the sound. A reader that has the newest block already goes on, and another one begins.
func mutateSound(_ directory: BridgeDirectory, _ options: Options) throws {
    var random = Drand48(seed: options["seed", default: 1])
    guard let name = directory.soundFile else { exit(64) }
    let file = try FileDescriptor.open("\(directory.path)/\(name)", O_RDWR)
    let original = try file.readBytes(1 << 20)
    let newest = original.withUnsafeBytes { $0.load(fromByteOffset: 64, as: UInt64.self) } % 128
    let raw = file.raw
    var (shown, refused, gone): (Int, Int, UInt64) = (0, 0, 0)
    for round in 0..<options["count", default: 1000] {
        let isHeader = Bool.random(using: &random)
        let slot = Bool.random(using: &random) ? UInt64.random(in: 0..<128, using: &random) : newest
        let start = isHeader ? 0 : 4096 + Int(slot) * 2048
        var page = Array(original[start..<start + (isHeader ? 136 : 32)])
        page.damage(isHeader ? (0..<60, 60) : (8..<28, 28), &random)
        var readers = Readers(directory)
        _ = try readers.old.read { _, _ in }
        pwrite(raw, page, page.count, off_t(start))
        for _ in 0..<4 {
            for isOld in [true, false] {
                do {
                    switch try isOld ? readers.old.read(check) : readers.new.read(check) {
                    case .block: shown += 1
                    case .lost(let count): gone = max(gone, count)
                    case .none: break
                    }
                } catch {
                    refused += 1
                }
            }
        }
        if round.isMultiple(of: 16) { _ = try SoundInspection(directory) }
        pwrite(raw, Array(original[start..<start + page.count]), page.count, off_t(start))
    }
    say("shown=\(shown) refused=\(refused) gone=\(gone)")
}

private struct Readers: ~Copyable {
    var old: SoundReader
    var new: SoundReader

    init(_ directory: BridgeDirectory) {
        old = SoundReader(directory: directory)
        new = SoundReader(directory: directory)
    }
}

private func check(_ block: SoundBlock, _ samples: Span<Int16>) {
    guard samples.count == block.channels * SoundBlock.samples else {
        say("samples=\(samples.count)")
        exit(1)
    }
}

extension BridgeDirectory {
    /// The name of the file of sound, if there is one.
    var soundFile: String? {
        let folder = try? FileDescriptor.open(path, O_RDONLY | O_DIRECTORY)
        return folder?.entries().first { $0.hasPrefix("sound.") && $0.utf8.count == 22 }
    }
}

extension [UInt8] {
    /// Damages one to three words; and every other time puts a checksum of what it covers to its place.
    fileprivate mutating func damage(_ sum: (covered: Range<Int>, place: Int), _ random: inout Drand48) {
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let width = [1, 2, 4, 8].randomElement(using: &random)!
            let offset = Int.random(in: 0..<count / width, using: &random) * width
            let value = [random.next(), 0, .max, UInt64.random(in: 0...20000, using: &random)].randomElement(
                using: &random
            )!
            Swift.withUnsafeBytes(of: value) { replaceSubrange(offset..<offset + width, with: $0.prefix(width)) }
        }
        guard Bool.random(using: &random) else { return }
        Swift.withUnsafeBytes(of: crc32c(self[sum.covered])) { replaceSubrange(sum.place..<sum.place + 4, with: $0) }
    }
}

/// Bit by bit, unlike the one that is tested.
private func crc32c(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    var sum = ~UInt32(0)
    for byte in bytes {
        sum ^= UInt32(byte)
        for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0x82F6_3B78 : sum >> 1 }
    }
    return ~sum
}

/// The C library's generator: the same numbers for the same seed.
private struct Drand48: RandomNumberGenerator {
    init(seed: UInt64) { srand48(Int(truncatingIfNeeded: seed)) }

    mutating func next() -> UInt64 {
        UInt64(UInt32(truncatingIfNeeded: mrand48())) << 32 | UInt64(UInt32(truncatingIfNeeded: mrand48()))
    }
}
