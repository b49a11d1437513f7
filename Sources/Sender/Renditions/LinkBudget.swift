import Media
import Time
import VideoEncoding

/// Chooses quantizers by the rate of the receivers' links, so that news arrives soon. News is a new picture. Sans-IO:
/// instants come from outside.
///
/// Rate control plans for frames of about the same size. A page of text after rest is as large as a hundred of them. So
/// it is sent whole, as fine as the link can send in a moment, but never too coarse to be read. On a thin link it is
/// then refined in parts. If pictures follow each other too fast for that, rate control takes over.
struct LinkBudget {
    /// The longest time to send news.
    private static let newsTime = Duration.milliseconds(300)
    /// The share of the bitrate for news that follows news.
    private static let steadyShare = 0.9
    /// News after a rest of this length must be readable at once.
    private static let rest = Duration.milliseconds(700)
    /// News that follows news is expected to continue for this long: no refinement may come between.
    private static let quiet = Duration.milliseconds(200)
    /// The longest time to send a part of a refinement, for which news waits.
    private static let partTime = Duration.milliseconds(100)
    /// A factor on the rate of the links, which leaves a reserve for headers and repair. Refinements use most of that
    /// reserve. If repair needs it, waiting packets delay refinements. With 1.25, a link of 300 kb/s is used to 0.95
    /// instead of 0.86, but smooth pages of VP8 reach 30 dB after 4.9 s instead of 2.6 s.
    private static let refinementUse = 1.12
    /// The longest time to send a patch.
    private static let patchTime = Duration.milliseconds(50)
    /// A link with at least this many times the bitrate is not thin, and its refinements need no budget.
    private static let amplitude = 2.0
    /// The fastest link, in bits a second, on which a page of AV1 is a keyframe. On a faster one, encoding the keyframe
    /// takes longer than sending the saved bytes.
    private static let slowRate = 1_200_000.0
    /// At first: the bytes of a refined macroblock, as a share of those of a newly encoded one.
    private static let refinedShare = 0.8
    /// The least value of that share, as text may stand below an empty part.
    private static let leastRefinedShare = 0.25

    private let codec: VideoCodec
    /// The rendition's bitrate without limit, in bits a second.
    private let usualBitrate: Double
    /// The target of rate control, in bits a second.
    private var bitrate: Double
    /// The rate of the receivers' links, in bits a second; nil if unknown.
    private var linkRate: Double?
    /// Bytes that may be sent beyond the plan of rate control, as of `updatedAt`.
    private var credit = 0.0
    private var updatedAt: Instant?
    private var newsAt: Instant?
    /// The time without news before a part is refined.
    private var quiet = Duration.zero
    /// When the link will have sent all frames so far.
    private var busyUntil = Instant.start
    /// The coarsest quantizer at which the picture can be read in a keyframe.
    private var readableQuantizer: Int
    /// The coarsest quantizer at which the picture is clear in a keyframe.
    private var clearQuantizer: Int
    /// Bytes of a macroblock of news, as a share of those of dense text.
    private var density = 1.0
    /// Bytes of a refined macroblock, as a share of those of dense text.
    private var refinedDensity = Self.refinedShare

    /// - Parameter bitrate: of the rendition, in bits a second.
    init(_ codec: VideoCodec, bitrate: Int) {
        self.codec = codec
        usualBitrate = Double(bitrate)
        self.bitrate = Double(bitrate)
        (readableQuantizer, clearQuantizer) = (codec.readableQuantizer, codec.clearQuantizer)
    }

    mutating func setBitrate(_ bitrate: Int) { self.bitrate = Double(bitrate) }

    /// - Parameter linkRate: the rate of the receivers' links, in bits a second; nil if unknown.
    mutating func setLinkRate(_ linkRate: Int?) {
        let wasKnown = self.linkRate != nil
        self.linkRate = linkRate.map { Double(max($0, 1)) }
        if !wasKnown { credit = most }
    }

    /// Whether every byte of a refinement delays later frames.
    var isThin: Bool { linkRate.map { $0 < Self.amplitude * usualBitrate } ?? false }

    /// The largest patch, in bytes; nil for no limit. A larger change is better encoded less finely.
    var patchLimit: Int? { isThin ? linkRate.map { Int($0 / 8 * Self.patchTime.seconds) } : nil }

    /// Whether to probe the quantizers that news needs: it has to be readable at once, and the link is thin.
    func asksForNeed(_ blocks: Int, of all: Int, at now: Instant) -> Bool {
        isThin && blocks * 2 > all && (newsAt.map { now - $0 >= Self.rest } ?? true)
    }

    /// Whether a page with `blocks` changed macroblocks had better be a keyframe. Between keyframes, AV1 takes a third
    /// more bytes for smooth text of the same quality. The unchanged rest must be small, as it gets coarse too.
    func makesKeyframe(_ blocks: Int, of all: Int, at now: Instant) -> Bool {
        codec == .av1 && linkRate.map { $0 <= Self.slowRate } ?? false && blocks * 4 >= all * 3
            && asksForNeed(blocks, of: all, at: now)
    }

    /// Sets the needs of a sampled page. They never make it coarser than usual.
    mutating func setNeed(_ need: ContentProbe.Need) {
        readableQuantizer = min(max(need.readable, codec.sharpQuantizer), codec.readableQuantizer)
        clearQuantizer = min(max(need.clear, codec.sharpQuantizer), codec.clearQuantizer)
        density = min(max(need.bytes / codec.textBytes(need.readable), 0.05), 8)
    }

    /// The quantizer of a picture with `blocks` new macroblocks; nil leaves it to rate control.
    mutating func newsQuantizer(_ blocks: Int, isKeyframe: Bool, at now: Instant) -> Int? {
        guard linkRate != nil, blocks > 0 else { return nil }
        update(now)
        let rest = newsAt.map { now - $0 } ?? Self.rest
        let isAfterRest = rest >= Self.rest
        var bytes = isThin ? most : min(most, credit)
        // News that follows news must not make the queue grow.
        if !isAfterRest { bytes = min(bytes, Self.steadyShare * bitrate / 8 * rest.seconds) }
        bytes /= Double(blocks) * density
        let coarsest = isAfterRest ? finer(readableQuantizer, isKeyframe: isKeyframe) : 63
        let finest = isAfterRest ? codec.sharpQuantizer : clearQuantizer
        if let fitting = (min(finest, coarsest)...coarsest).first(where: { codec.textBytes($0) <= bytes }) {
            return fitting
        }
        return isThin ? coarsest : nil
    }

    /// The quantizer of the next refinement, and the number of its macroblocks; nil while the link is busy.
    ///
    /// - Parameter coarsest: the quantizer of the coarsest macroblock.
    func refinement(of coarsest: Int, at now: Instant) -> (quantizer: Int, blocks: Int)? {
        guard let linkRate, now >= busyUntil - Self.partTime / 2, now >= (newsAt ?? .start) + quiet else { return nil }
        let clear = finer(clearQuantizer, isKeyframe: false)
        let quantizer = coarsest > clear ? clear : codec.sharpQuantizer
        let bytes = linkRate / 8 * Self.partTime.seconds
        return (quantizer, max(Int(bytes / (codec.textBytes(quantizer) * refinedDensity)), 1))
    }

    /// A frame was sent.
    ///
    /// - Parameters:
    ///   - blocks: the number of macroblocks encoded with a quantizer of this budget; nil for another quantizer.
    ///   - isNews: whether it shows a new picture.
    mutating func note(_ byteCount: Int, quantizer: Int, blocks: Int?, isNews: Bool, at now: Instant) {
        update(now)
        credit = max(credit - Double(byteCount), -most)
        if let linkRate {
            busyUntil = max(busyUntil, now) + .seconds(Double(byteCount) * 8 / linkRate / Self.refinementUse)
        }
        let isAfterRest = newsAt.map { now - $0 >= Self.rest } ?? true
        if isNews {
            quiet = isAfterRest ? .zero : Self.quiet
            // A page that took almost no bytes before is no measure of another one.
            if isAfterRest { refinedDensity = max(refinedDensity, Self.refinedShare) }
            newsAt = now
        }
        guard let blocks, blocks > 0 else { return }
        let ratio = min(max(Double(byteCount) / (Double(blocks) * codec.textBytes(quantizer)), 0.05), 4)
        if !isNews {
            refinedDensity += (max(ratio, Self.leastRefinedShare) - refinedDensity) / 2
        } else if isAfterRest {
            // After easy text may come dense text.
            density += (ratio - density) / (ratio > density ? 1 : 3)
        } else {
            density += (ratio - density) / 2
        }
    }

    /// The quantizer that looks like this one in a keyframe.
    private func finer(_ quantizer: Int, isKeyframe: Bool) -> Int {
        isKeyframe ? quantizer : max(quantizer - codec.followingStep, codec.sharpQuantizer)
    }

    private var most: Double { (linkRate ?? 0) / 8 * Self.newsTime.seconds }

    private mutating func update(_ now: Instant) {
        credit = min(most, credit + bitrate / 8 * max(0, (now - (updatedAt ?? now)).seconds))
        updatedAt = now
    }
}
