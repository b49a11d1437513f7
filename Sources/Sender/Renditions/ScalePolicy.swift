import Media
import Time
import VideoEncoding

/// The size of a rendition's picture, in quarters of its width and height.
enum PictureScale: Int, Comparable, CaseIterable, Sendable {
    case half = 2
    case threeQuarters = 3
    case full = 4

    static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

/// Decides when the picture of a film is made smaller, so that a thin link carries more of its frames.
///
/// First the quantizer gives way, then the frame rate, and only then the size. Text is never made smaller: the size
/// changes only while most of the picture is replaced several times a second, when nobody reads. As soon as the picture
/// rests, it is sent in full size. A change of size costs a keyframe. Sans-IO: instants come from outside.
struct ScalePolicy {
    /// A film changes at least this share of the picture at once, without moved parts.
    static let filmShare = 0.5
    /// The longest time between two such changes of a film.
    static let longestPause = Duration.milliseconds(700)
    /// A film is made smaller if the link carries fewer frames a second than this at the coarsest quantizer.
    static let fewestFrames = 10.0
    /// It is made larger again if the link would carry this many larger frames a second.
    static let framesToGrow = 15.0
    /// How long that must last. A film that ends soon after it was made smaller doubles the time for the next one.
    static let patience = Duration.seconds(2)
    static let longestPatience = Duration.seconds(32)
    /// A film that was small for this long was worth its keyframes.
    static let worthyTime = Duration.seconds(20)
    /// A frame with a finer quantizer than this could have been smaller.
    private static let coarseQuantizer = 56

    /// A series of pictures that are mostly new.
    private struct Film {
        /// Its beginning at this scale.
        var since: Instant
        var last: Instant
        /// Bytes of a frame at this scale, at the coarsest quantizer.
        var frameSize: Double?
        /// Since when another scale would suit.
        var unsuitableSince: Instant?
    }

    private let codec: VideoCodec
    private var film: Film?
    private var patience = Self.patience
    /// When this film's picture was first made smaller.
    private var shrunkAt: Instant?
    private(set) var scale = PictureScale.full

    init(_ codec: VideoCodec) { self.codec = codec }

    /// The picture has changed.
    ///
    /// - Parameter share: the changed share of it, 0...1, without moved parts.
    mutating func noteChange(_ share: Double, at now: Instant) {
        endFilm(at: now)
        guard share >= Self.filmShare else { return }
        if film == nil { film = Film(since: now, last: now) }
        film!.last = max(film!.last, now)
    }

    /// A frame of a new picture was encoded, by rate control or for the link.
    ///
    /// - Parameter bitrate: the limit of frames, in bits a second.
    mutating func noteFrame(_ frame: EncodingResult, byteCount: Int, bitrate: Int, at now: Instant) {
        guard var film, !frame.isKeyframe else { return }
        defer { if self.film != nil { self.film = film } }
        let coarsest = Double(byteCount) * codec.textBytes(63) / codec.textBytes(frame.quantizer)
        film.frameSize = film.frameSize.map { $0 + (coarsest - $0) / 8 } ?? coarsest
        let frames = Double(bitrate) / 8 / film.frameSize!
        guard let better = better(frames, isCoarse: frame.quantizer >= Self.coarseQuantizer) else {
            film.unsuitableSince = nil
            return
        }
        let since = film.unsuitableSince ?? now
        film.unsuitableSince = since
        guard now - max(since, film.since) >= patience else { return }
        if scale == .full { shrunkAt = now }
        scale = better
        film = Film(since: now, last: film.last)
    }

    /// The scale that suits a link that carries `frames` a second at the present one; nil if the present one suits.
    private func better(_ frames: Double, isCoarse: Bool) -> PictureScale? {
        if isCoarse, frames < Self.fewestFrames { return PictureScale.allCases.last { $0 < scale } }
        guard let larger = PictureScale.allCases.first(where: { $0 > scale }) else { return nil }
        let ratio = Double(scale.rawValue) / Double(larger.rawValue)
        return frames * ratio * ratio >= Self.framesToGrow ? larger : nil
    }

    /// The picture was not checked for changes, as the link is full: with the keyframe of a smaller picture, for
    /// example.
    mutating func noteUnseen(at now: Instant) {
        guard scale < .full, film != nil else { return }
        film!.last = max(film!.last, now)
    }

    /// Ends a film without recent pictures, and with it the smaller picture.
    ///
    /// - Parameter keepsSize: whether a receiver accepts one size only.
    mutating func update(keepsSize: Bool, at now: Instant) {
        if keepsSize { film = nil }
        endFilm(at: now)
    }

    /// The end of the film if no picture comes; nil if the picture has its full size. Update then.
    var deadline: Instant? {
        scale == .full ? nil : film.map { $0.last + Self.longestPause }
    }

    private mutating func endFilm(at now: Instant) {
        if let film, now < film.last + Self.longestPause { return }
        film = nil
        scale = .full
        guard let begin = shrunkAt else { return }
        shrunkAt = nil
        patience = now - begin < Self.worthyTime ? min(patience * 2, Self.longestPatience) : Self.patience
    }
}

extension Rendition {
    /// The same rendition with a smaller picture, of even width and height.
    func scaled(to scale: PictureScale) -> Rendition {
        func part(_ length: Int) -> Int { max(2, length * scale.rawValue / PictureScale.full.rawValue & ~1) }
        var scaled = self
        (scaled.width, scaled.height) = (part(width), part(height))
        return scaled
    }
}
