/// The state of a broadcast for a process that shows no pictures of it.
package struct BroadcastGlance: Equatable, Sendable {
    /// Whether a capture process lives.
    package let isThere: Bool
    /// Whether the last capture process said goodbye, or there never was one.
    package let hasEnded: Bool
    /// Whether nothing of it may leave the machine: it is paused, a pause was asked for, or there is no broadcast.
    package let isPaused: Bool
    /// The process whose window is shown; nil if no window is shown, or its process is unknown.
    package let windowProcess: Int32?

    /// Looks at a folder. Unreadable data counts as paused.
    package init(_ directory: BridgeDirectory) {
        let isThere = (try? directory.hasWriter()) ?? false
        self.isThere = isThere
        hasEnded = !isThere && (try? directory.hasEndedWell()) ?? false
        isPaused = hasEnded || RecoveredState(in: directory).isPaused
        windowProcess = ((try? directory.status()) ?? nil)?.windowProcess
    }
}
