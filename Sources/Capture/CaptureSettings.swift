package import FrameBridge
package import X11Capture

package struct CaptureSettings: Sendable {
    /// The X display; nil for the one in `DISPLAY`.
    package var display: String?
    package var source: CaptureSource
    /// At most this many frames a second; 1 to 240.
    package var framesPerSecond = 30
    package var showsCursor = true
    package var storage = FrameStorage.file
    /// Whether this process continues the broadcast of one that died. Then it waits for a missing source.
    package var goesOn = false
    /// Called before each connection to the X server, which reads the server's authority file.
    package var willConnect: @Sendable () -> Void = {}

    package init(_ source: CaptureSource) { self.source = source }
}
