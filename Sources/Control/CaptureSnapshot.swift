package import FrameBridge
package import Time

/// The capture process at one instant, by its files. `Ms` is milliseconds, `S` seconds.
package struct CaptureSnapshot: Encodable, Sendable {
    /// The state's name in status files.
    package var state = Liveness.stopped.name
    package var reason: String?
    package var pid: Int32?
    package var source: String?
    package var width: Int?
    package var height: Int?
    package var framesPublished: UInt64 = 0
    package var frameAgeMs: Double?
    package var uptimeS: Double?
    package var hasSender = false

    package init() {}

    package init(_ inspection: BridgeInspection, at now: Instant) {
        let status = inspection.status
        state = inspection.liveness.name
        reason = status.flatMap { $0.reason.isEmpty ? nil : $0.reason }
        source = inspection.source.isEmpty ? nil : inspection.source
        (width, height) = (inspection.latest?.width, inspection.latest?.height)
        framesPublished = inspection.published
        frameAgeMs = inspection.latest.map { milliseconds(now - $0.capturedAt) }
        hasSender = inspection.hasReaders
        guard isLive, let status else { return }
        (pid, uptimeS) = (status.pid, milliseconds(now - status.startedAt) / 1000)
    }

    package var isLive: Bool { state != Liveness.stopped.name && state != Liveness.dead.name }
}
