import Media
import Pixels
import Time

/// Chooses how much pictures are brightened. Sans-IO.
///
/// What is brighter than before is followed at once, as it would be cut; what is darker, only if it lasts.
struct ToneChoice {
    /// How long a picture is to be darker before it is brightened more.
    static let patience = Duration.seconds(1)
    /// Means of luma: below the first a picture is dark, and it stays so up to the second.
    static let dark = (below: 48.0, upTo: 64.0)
    /// Scales from which a picture lacks contrast, and at which it goes on to do so.
    private static let flat = (from: 48, still: 40)
    /// Pixels that may be brighter than white, such as a lamp or the pointer.
    private static let cutShare = 500
    private static let (black, white) = (16, 235)

    private(set) var tone: Tone?
    /// The least of the brighter tones that were wanted since an instant.
    private var pending: (tone: Tone, since: Instant)?
    private var legibility = Legibility.off

    /// When a picture that does not change is to be looked at again.
    var dueAt: Instant? { pending.map { $0.since + Self.patience } }

    /// Whether pictures are looked at.
    var isOn: Bool { legibility != .off }

    /// - Returns: whether that is news.
    mutating func set(_ legibility: Legibility) -> Bool {
        guard legibility != self.legibility else { return false }
        self = ToneChoice()
        self.legibility = legibility
        return true
    }

    /// - Parameter isFirst: whether there was no picture before that this one follows.
    mutating func note(_ histogram: LumaHistogram, isFirst: Bool, at now: Instant) {
        let wanted = wanted(histogram)
        guard let wanted, tone.map({ wanted.scale > $0.scale }) ?? true else {
            (tone, pending) = (wanted, nil)
            return
        }
        let least = pending.map { $0.tone.scale < wanted.scale ? $0.tone : wanted } ?? wanted
        let since = pending?.since ?? now
        if isFirst || now >= since + Self.patience {
            (tone, pending) = (least, least.scale < wanted.scale ? (wanted, now) : nil)
        } else {
            pending = (least, since)
        }
    }

    private func wanted(_ histogram: LumaHistogram) -> Tone? {
        guard isOn else { return nil }
        let reach = max(histogram.brightest(butOneIn: Self.cutShare) - Self.black, 1)
        let scale = Tone.scales.last { reach * $0 <= (Self.white - Self.black) * 32 } ?? Tone.scales[0]
        if legibility == .auto {
            let isDark = histogram.mean < (tone == nil ? Self.dark.below : Self.dark.upTo)
            guard isDark, scale >= (tone == nil ? Self.flat.from : Self.flat.still) else { return nil }
        }
        return Tone(scale: scale)
    }
}
