import RTP
import Time

@testable import WebRTC

extension PeerSession {
    /// Gives what may go out to `send`, one datagram at a time, until that returns false.
    mutating func poll(at now: Instant, send: (UnsafeRawBufferPointer) -> Bool) {
        var batch = DatagramBatch()
        poll(at: now, in: &batch) { Self.each($0, send) }
    }

    mutating func close(at now: Instant, _ end: End, send: (UnsafeRawBufferPointer) -> Bool) {
        var batch = DatagramBatch()
        close(at: now, end, in: &batch) { Self.each($0, send) }
    }

    /// Carries datagrams both ways until none is left.
    mutating func exchange(with viewer: RemoteViewer, at now: Instant) throws {
        while true {
            var out: [[UInt8]] = []
            poll(at: now) {
                out.append(Array($0))
                return true
            }
            for datagram in out { try viewer.receive(datagram) }
            let back = viewer.dtls.takeDatagrams()
            for datagram in back { datagram.withUnsafeBytes { receive($0, now: now) } }
            if out.isEmpty, back.isEmpty { return }
        }
    }

    private static func each(_ batch: borrowing DatagramBatch, _ send: (UnsafeRawBufferPointer) -> Bool) -> Int {
        for index in 0..<batch.count {
            guard batch[index].withUnsafeBytes(send) else { return index }
        }
        return batch.count
    }
}
