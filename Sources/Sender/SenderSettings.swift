/// How a sender works, whatever the rendition.
package struct SenderSettings: Sendable {
    /// Whether a new frame ends the wait for the next tick.
    package var wakesEarly: Bool
    /// The time between keyframes that nobody asked for; nil for none.
    package var keyframeInterval: Duration?
    /// The version of VP8's bitstream, 0 or 1.
    package var vp8Profile = 0
    /// Whether VP8 sends small changes as patches.
    package var allowsPatches = true
    /// Below how much of its reserve, in percent, rate control drops frames; 0 means never.
    package var dropThreshold = 0

    package init(wakesEarly: Bool, keyframeInterval: Duration?) {
        self.wakesEarly = wakesEarly
        self.keyframeInterval = keyframeInterval
    }
}
