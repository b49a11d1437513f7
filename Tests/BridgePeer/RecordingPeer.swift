import FrameBridge
import Glibc
import Posix
import Time

extension BridgePeer {
    /// Hears what the peers of all senders say, for `seconds`, and appends it to the file of the word that remains: 16 bit, 48 kHz, two
    /// channels. Says when it has begun, and `lost=COUNT` if it was too slow.
    static func record(in directory: BridgeDirectory, _ options: Options) throws {
        guard let path = options.rest.first else { exit(64) }
        let file = try FileDescriptor.open(path, O_WRONLY | O_CREAT | O_TRUNC)
        var readers = TalkReaders(in: directory)
        let bell = Bell()
        say("begun=\(now().nanoseconds)")
        while now() < options.end {
            readers.look()
            for sender in readers.senders {
                while true {
                    var bytes: [UInt8] = []
                    let outcome = try readers.read(of: sender) { block, samples in
                        for index in samples.indices {
                            let sample = UInt16(bitPattern: samples[index])
                            let pair = [UInt8(truncatingIfNeeded: sample), UInt8(sample >> 8)]
                            bytes += block.channels == 1 ? pair + pair : pair
                        }
                    }
                    if outcome == .none { break }
                    if case .lost(let count) = outcome { say("lost=\(count)") }
                    try file.writeAll(bytes)
                }
            }
            readers.wait(until: now() + .milliseconds(250), or: bell, while: bell.count)
        }
    }
}
