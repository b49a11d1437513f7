import FrameBridge
import Media
import SoundCoding
import TestSupport
import Testing
import Time

/// A ring of what peers say, and who reads it.
final class TalkRing {
    let temporary: TemporaryDirectory
    let folder: ProcessFolder
    var reader: SoundReader

    init() throws {
        temporary = try TemporaryDirectory()
        folder = try ProcessFolder(.sender, in: BridgeDirectory(path: temporary.file("bridge"), create: true))
        reader = SoundReader(talkOf: folder)
    }

    func writer() throws -> sending SoundWriter { try SoundWriter(talkIn: folder) }

    /// All blocks that there are to read, and their samples.
    func read() throws -> (blocks: [SoundBlock], samples: [Int16]) {
        var (blocks, samples): ([SoundBlock], [Int16]) = ([], [])
        while true {
            let outcome = try reader.read { block, span in samples += span.indices.map { span[$0] } }
            switch outcome {
            case .block(let block): blocks.append(block)
            case .lost(let count): Issue.record("\(count) blocks are lost")
            case .none: return (blocks, samples)
            }
        }
    }
}

/// What one peer sends: packets of 20 ms.
struct Speech {
    let packets: [[UInt8]]
    var number: UInt16 = 100
    var sent = 0

    init(_ clip: SoundClip) throws {
        var encoder = try OpusEncoder(channels: clip.channels)
        let size = 960 * clip.channels
        packets = try (0..<clip.samples.count / size).map { index in
            try encoder.encode(Array(clip.samples[index * size..<(index + 1) * size]).span) { packet in
                packet.indices.map { packet[$0] }
            }
        }
    }

    mutating func next(at now: Instant) -> ReceivedSound? {
        guard sent < packets.count else { return nil }
        defer { sent += 1 }
        return ReceivedSound(
            sequenceNumber: number &+ UInt16(sent),
            timestamp: UInt32(sent) * 960,
            arrivedAt: now,
            bytes: packets[sent]
        )
    }
}

/// `#expect` for calls that change a value, which the macro cannot take.
func expect(_ condition: Bool, location: SourceLocation = #_sourceLocation) {
    #expect(condition, sourceLocation: location)
}
