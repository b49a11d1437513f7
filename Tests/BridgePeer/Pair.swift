import FrameBridge
import Glibc
import Posix
import Synchronization

/// A writer and two readers in one process, for the thread sanitizer. It does not know that a reader throws away what it read
/// while it was written, so the writer waits until both have read a frame; all that orders the reading of a frame after its
/// writing is the bridge's own.
func pair(in directory: BridgeDirectory, _ options: Options) throws {
    let frames = options["frames", default: 1000]
    let done = try begin(in: directory, until: frames, follow)
    let pattern = Pattern.solid
    var writer = try FrameWriter(directory: directory, source: "pair", framesPerSecond: 30)
    for number in 1...frames {
        try writer.publish(pattern.info(64, 64, number: number)) { $0.withPlanes { luma, _ in fill(&luma, number) } }
        wait(for: done, number)
    }
    try writer.stop()
    say("frames=\(frames)")
}

/// Likewise with sound.
func pairSound(in directory: BridgeDirectory, _ options: Options) throws {
    let blocks = options["blocks", default: 1000]
    var writer = try SoundWriter(in: directory)
    let done = try begin(in: directory, until: blocks, hear)
    var samples = [Int16](repeating: 0, count: SoundBlock.samples)
    for number in 1...blocks {
        for index in samples.indices { samples[index] = Int16(truncatingIfNeeded: number &+ UInt64(index)) }
        try writer.write(samples.span, channels: 1, capturedAt: now(), follows: true)
        wait(for: done, number)
    }
    say("blocks=\(blocks)")
}

private final class Progress: Sendable {
    let number = Atomic<UInt64>(0)
}

/// Starts two readers. Nobody joins them: the writer waits for what they do.
private func begin(
    in directory: BridgeDirectory,
    until end: UInt64,
    _ read: @escaping @Sendable (String, UInt64, Progress) throws -> Void
) throws -> [Progress] {
    let done = [Progress(), Progress()]
    let path = directory.path
    for progress in done {
        _ = try Thread {
            do { try read(path, end, progress) } catch {
                say("error=\(error)")
                exit(1)
            }
        }
    }
    return done
}

private func wait(for done: [Progress], _ number: UInt64) {
    while done.contains(where: { $0.number.load(ordering: .acquiring) < number }) { sched_yield() }
}

@Sendable private func hear(_ path: String, until end: UInt64, _ progress: Progress) throws {
    var reader = SoundReader(directory: try BridgeDirectory(path: path, create: false))
    var last: UInt64 = 0
    while last < end {
        var isWhole = false
        let outcome = try reader.read { block, samples in
            isWhole = samples.indices.allSatisfy { samples[$0] == Int16(truncatingIfNeeded: Int(block.number) &+ $0) }
        }
        guard case .block(let block) = outcome else {
            sched_yield()
            continue
        }
        guard isWhole else {
            say("torn=\(block.number)")
            exit(1)
        }
        last = block.number
        progress.number.store(last, ordering: .releasing)
    }
}

@Sendable private func follow(_ path: String, until end: UInt64, _ progress: Progress) throws {
    // Of its own: counting references orders things too.
    var reader = try FrameReader(directory: BridgeDirectory(path: path, create: false))
    var last: UInt64 = 0
    while last < end {
        var isWhole = false
        guard case .frame(let info) = try reader.read({ isWhole = holds($0.luma, $0.info.number) }) else {
            // Not by waiting: the wake word orders things too.
            sched_yield()
            continue
        }
        guard isWhole else {
            say("torn=\(info.number)")
            exit(1)
        }
        last = info.number
        progress.number.store(last, ordering: .releasing)
    }
}

/// By single stores and loads: the sanitizer does not see into the C library's.
private func fill(_ plane: inout MutableRawSpan, _ number: UInt64) {
    plane.withUnsafeMutableBytes { bytes in
        for index in bytes.indices { bytes[index] = UInt8(truncatingIfNeeded: number &+ UInt64(index)) }
    }
}

private func holds(_ plane: RawSpan, _ number: UInt64) -> Bool {
    plane.withUnsafeBytes { bytes in
        bytes.indices.allSatisfy { bytes[$0] == UInt8(truncatingIfNeeded: number &+ UInt64($0)) }
    }
}
