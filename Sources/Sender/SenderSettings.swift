package struct SenderSettings: Sendable {
    /// Whether a new frame ends the wait for the next tick.
    package var wakesEarly: Bool
    /// The time between keyframes without a request; nil for none.
    package var keyframeInterval: Duration?
    /// The version of VP8's bitstream, 0 or 1.
    package var vp8Profile = 0
    /// Whether VP8 sends small changes as patches.
    package var allowsPatches = true

    package init(wakesEarly: Bool, keyframeInterval: Duration?) {
        self.wakesEarly = wakesEarly
        self.keyframeInterval = keyframeInterval
    }
}
