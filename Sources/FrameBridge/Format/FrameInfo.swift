public import Time

/// A rectangle in the X server's root window, in pixels.
public struct SourceRectangle: Sendable, Equatable {
    /// The top left corner.
    public var x: Int, y: Int
    /// The extent.
    public var width: Int, height: Int

    /// A rectangle with its top left corner at `x`, `y`.
    public init(x: Int, y: Int, width: Int, height: Int) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }
}

/// The metadata of one frame.
public struct FrameInfo: Sendable, Equatable {
    /// Picture size in pixels; even, 2 to 16384.
    public var width: Int, height: Int
    /// When the pixels were taken from the screen.
    public var capturedAt: Instant
    /// The part of the screen that the picture shows.
    public var source: SourceRectangle
    /// The orientation of the monitor that shows that part, or most of it.
    public var orientation: Orientation
    /// The number of the frames file: it changes with a larger picture size, and after a restart of the capture
    /// process. Frames of one generation say nothing about those of another.
    public internal(set) var generation: UInt64 = 0
    /// Counts the frames of a capture process from 1. Later frames have larger numbers, also across its generations.
    public internal(set) var number: UInt64 = 0
    /// When the writer finished the frame; nil before.
    public internal(set) var publishedAt: Instant?

    /// The metadata before publication.
    public init(
        width: Int,
        height: Int,
        capturedAt: Instant,
        source: SourceRectangle,
        orientation: Orientation = .upright
    ) {
        self.width = width
        self.height = height
        self.capturedAt = capturedAt
        self.source = source
        self.orientation = orientation
    }
}

/// Colour of all frames of this layout version, by the numbers of ITU-T H.273: BT.601 (§8.3), limited range (luma 16-235).
enum Colour {
    static let bt601: UInt8 = 6
    static let limited: UInt8 = 0
}
