/// What matters of a broadcast to a process that shows nothing of it.
package struct BroadcastGlance: Equatable, Sendable {
    /// Whether a capture process lives.
    package let isThere: Bool
    /// Whether the last one said goodbye, or none has been here.
    package let hasEnded: Bool
    /// Whether nothing of it may leave the machine: a person paused it, or wants to, or there is no broadcast.
    package let isPaused: Bool
    /// The process whose window is shown; nil if no window is, or that is not known.
    package let windowProcess: Int32?

    /// Looks at a folder. What cannot be read counts as paused.
    package init(_ directory: BridgeDirectory) {
        let isThere = (try? directory.hasWriter()) ?? false
        self.isThere = isThere
        hasEnded = !isThere && (try? directory.hasEndedWell()) ?? false
        isPaused = hasEnded || RecoveredState(in: directory).isPaused
        windowProcess = ((try? directory.status()) ?? nil)?.windowProcess
    }
}
