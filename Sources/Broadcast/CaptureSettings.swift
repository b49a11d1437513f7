package import FrameBridge
package import X11Capture

/// What a broadcast shows.
package struct CaptureSettings: Sendable {
    /// The X display; nil for the one that `DISPLAY` names.
    package var display: String?
    package var source: CaptureSource
    /// At most this many frames a second; 1 to 240.
    package var framesPerSecond: Int
    package var showsCursor: Bool
    package var storage: FrameStorage
    /// Whether this process continues the broadcast of one that died: then it waits for a source that is absent.
    package var goesOn = false

    package init(
        display: String?,
        source: CaptureSource,
        framesPerSecond: Int,
        showsCursor: Bool,
        storage: FrameStorage
    ) {
        self.display = display
        self.source = source
        self.framesPerSecond = framesPerSecond
        self.showsCursor = showsCursor
        self.storage = storage
    }
}
