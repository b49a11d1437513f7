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

/// Decides when the picture of a film is made smaller, so that a thin link carries more frames of it.
///
/// First the quantizer gives, then the frame rate, and only then the size. Text is never made smaller: the size gives only while
/// most of the picture is another one several times a second, when nobody reads; as soon as it rests, it is sent in full size. A
/// change of size costs a keyframe. Sans-IO: instants come from outside.
struct ScalePolicy {
    /// A film changes so much of the picture at once, what has only moved not counted…
    static let filmShare = 0.5
    /// …at least so often.
    static let longestPause = Duration.milliseconds(700)
    /// It is made smaller where the link carries fewer frames of it in a second than this, with the coarsest quantizer…
    static let fewestFrames = 10.0
    /// …and larger again where it would carry so many of the larger ones.
    static let framesToGrow = 15.0
    /// For how long it must be so. Each film that ends soon after it was made smaller doubles that for the next one.
    static let patience = Duration.seconds(2)
    static let longestPatience = Duration.seconds(32)
    /// A film that was made smaller for so long was worth its keyframes.
    static let worthyTime = Duration.seconds(20)
    /// A frame with a finer quantizer than this could have been smaller.
    private static let coarseQuantizer = 56

    /// Pictures that follow each other, most of each being new.
    private struct Film {
        /// Since when it goes on at this scale.
        var since: Instant
        /// When the last picture came.
        var last: Instant
        /// Bytes of a frame at this scale, as it would be with the coarsest quantizer.
        var frameSize: Double?
        /// Since when another scale would suit.
        var unsuitableSince: Instant?
    }

    private let codec: VideoCodec
    private var film: Film?
    private var patience = Self.patience
    /// When the picture of this film was made smaller first.
    private var shrunkAt: Instant?
    private(set) var scale = PictureScale.full

    init(_ codec: VideoCodec) { self.codec = codec }

    /// The picture has changed.
    ///
    /// - Parameter share: how much of it, 0...1, what has only moved not counted.
    mutating func noteChange(_ share: Double, at now: Instant) {
        endFilm(at: now)
        guard share >= Self.filmShare else { return }
        if film == nil { film = Film(since: now, last: now) }
        film!.last = max(film!.last, now)
    }

    /// A frame of a new picture was encoded, by rate control or for the link.
    ///
    /// - Parameter bitrate: what frames may take, in bits a second.
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

    /// The scale that suits a link which carries so many frames a second at this one; nil if this one does.
    private func better(_ frames: Double, isCoarse: Bool) -> PictureScale? {
        if isCoarse, frames < Self.fewestFrames { return PictureScale.allCases.last { $0 < scale } }
        guard let larger = PictureScale.allCases.first(where: { $0 > scale }) else { return nil }
        let ratio = Double(scale.rawValue) / Double(larger.rawValue)
        return frames * ratio * ratio >= Self.framesToGrow ? larger : nil
    }

    /// Nobody has looked whether the picture has changed, as the link is full: with the keyframe of a smaller picture, say.
    mutating func noteUnseen(at now: Instant) {
        guard scale < .full, film != nil else { return }
        film!.last = max(film!.last, now)
    }

    /// Ends a film of which nothing came for long, and with it the smaller picture.
    ///
    /// - Parameter keepsSize: whether a receiver takes one size only.
    mutating func update(keepsSize: Bool, at now: Instant) {
        if keepsSize { film = nil }
        endFilm(at: now)
    }

    /// When the film is over if nothing more comes; nil if the picture has its full size. Update then.
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
        return Rendition(
            id: id,
            codec: codec,
            rung: rung,
            width: part(width),
            height: part(height),
            framesPerSecond: framesPerSecond,
            bitrate: bitrate
        )
    }
}
