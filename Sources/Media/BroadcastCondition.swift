/// The condition of a broadcast, with the names of status files and JSON.
package enum BroadcastCondition: String, Sendable {
    /// There is no picture yet.
    case starting
    case active
    case paused
    case stopping
    /// The capture process said goodbye.
    case stopped
    /// New pictures cannot be written.
    case error
    /// The X server or the monitor is gone.
    case sourceLost = "source_lost"
    /// The capture process does not get to run.
    case stalled
    /// The capture process ended without a goodbye.
    case dead
}
