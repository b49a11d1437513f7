import Control
package import Media

/// A deed on the desktop of the person who shares.
package enum DesktopDeed: Codable, Equatable, Sendable {
    /// Shows another source in the broadcast, one of those that were allowed.
    ///
    /// - Parameter source: in the words of the capture process.
    case show(source: String)
    /// A ring on the screen, by the numbers of a `Highlight`.
    case highlight(numbers: [Int])
    case notify(title: String, text: String)
    case frame(StatusFrame)
    /// Whether somebody watches.
    case watched(Bool)
    /// Plays one of the sounds, counted from 1.
    case chime(Int)
}

/// The first line for the process at the desktop.
struct DesktopTask: Codable, Equatable {
    /// The folder of the broadcast.
    let broadcast: String
    /// Nil for the one that DISPLAY names.
    let display: String?
    /// Sources that may be shown, in the words of the capture process.
    let sources: [String]
    let frame: StatusFrame
    /// The paths of sounds that may be played.
    let sounds: [String]
}

/// Its later lines.
struct DesktopOrder: Codable, Equatable {
    let id: Int
    let deed: DesktopDeed
    /// When it is not done any more, in nanoseconds of CLOCK_MONOTONIC.
    let until: UInt64
}

/// What it answers to each.
struct DesktopAnswer: Codable, Equatable {
    let id: Int
    /// Nil if it is done.
    let refusal: CommandRefusal?
}
