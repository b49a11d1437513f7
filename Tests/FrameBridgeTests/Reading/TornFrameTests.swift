import FrameBridge
import Posix
import Testing

/// One writer at full speed against readers that look at every byte.
@Suite(.serialized) struct TornFrameTests {
    static let frames: UInt64 = 20_000

    @Test(arguments: [FrameReader.Access.mapped, .copied])
    func noReaderTakesATornPicture(access: FrameReader.Access) throws {
        let folder = ScratchFolder()
        let directory = try folder.bridge()
        // Threads of their own: these loops would hold up the pool that runs the other tests.
        let writer = try Thread { Self.write(to: directory) }
        let reader = try Thread { Self.read(directory, access) }
        Self.read(directory, access)
        writer.join()
        reader.join()
    }

    private static func write(to directory: BridgeDirectory) {
        do {
            var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
            for number in 1...frames {
                // Sizes change too: a picture must come with its own geometry.
                let side = 64 + Int(number % 3) * 32
                try writer.publish(info(side, side)) { fill(&$0, UInt8(truncatingIfNeeded: number)) }
            }
        } catch {
            Issue.record(error)
        }
    }

    private static func read(_ directory: BridgeDirectory, _ access: FrameReader.Access) {
        do {
            var reader = try FrameReader(directory: directory, access: access)
            var last: UInt64 = 0
            while last < frames {
                var byte: UInt8?
                let isOver = try reader.liveness() == .dead
                guard case .frame(let info) = try reader.read({ byte = uniformByte($0) }) else {
                    if isOver, last > 0 { throw Unexpected("the last frame is \(last)") }
                    continue
                }
                if byte != UInt8(truncatingIfNeeded: info.number) || info.number <= last {
                    Issue.record("frame \(info.number) after \(last) is full of \(String(describing: byte))")
                    return
                }
                last = info.number
            }
        } catch {
            Issue.record(error)
        }
    }
}
