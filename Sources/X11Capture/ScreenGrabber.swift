import CXCB
import Glibc
package import Pixels
import Posix

/// The outcome of a grab without an error.
package enum GrabOutcome: Equatable, Sendable {
    /// The requested tiles are as the screen was.
    case grabbed
    /// The source has moved, was turned or has another size. `region` is new, and there is no picture of it yet: grab
    /// all of it.
    case geometryChanged
    /// The source is not there at present. Later grabs look for it, and return `geometryChanged` when it is back.
    case sourceLost
}

/// Keeps the picture of a source up to date, tile by tile.
///
/// Contract: drain the connection's events before each grab. Otherwise it does not notice that a monitor has moved.
package final class ScreenGrabber {
    package let source: CaptureSource
    package let format: ImageFormat
    package let method: GrabMethod
    /// One sentence for the user if grabbing will be slow.
    package let warning: String?
    /// The present place of the source, or its last one.
    package var region: PixelRect { placement.region }
    /// How the monitor that shows most of the source is turned and mirrored: the bits of RandR's ROTATION (RandR 1.2
    /// §6).
    package var rotation: UInt16 { placement.rotation }

    package private(set) var statistics = GrabStatistics()

    private var placement: Placement
    private let connection: XConnection
    private var picture: HeldPicture
    /// The pieces of the present grab, and the numbers of their requests.
    private var pieces: [HeldPicture.Piece] = []
    private var sequences: [UInt32] = []
    /// Whether there was no grab since the picture's memory was made.
    package private(set) var isBlank = true
    private var isLost = false
    /// The reason why the source was missing at the last look.
    package private(set) var absence: X11Error?
    private var geometrySerial: Int

    /// Finds the source and the best method that works.
    ///
    /// - Parameter methods: the methods to try, best first.
    package init(
        connection: XConnection,
        source: CaptureSource,
        methods: [GrabMethod] = GrabMethod.allCases
    ) throws(X11Error) {
        precondition(!methods.isEmpty)
        if case .window(let window, _) = source { try connection.redirect(window) }
        let source = try connection.marked(source)
        let format = try connection.imageFormat(of: source)
        let placement = try connection.place(source)
        let region = placement.region
        (method, warning) = try connection.bestMethod(of: methods)
        picture = try HeldPicture(size: region.size, format: format, method: method, connection: connection)
        self.connection = connection
        self.source = source
        self.format = format
        self.placement = placement
        geometrySerial = connection.geometrySerial
    }

    /// Whether the source may have left `region`. A grab, even of no tiles, finds out.
    package var mayHaveMoved: Bool { isLost || geometrySerial != connection.geometrySerial }

    package var bytesPerRow: Int { picture.bytesPerRow }

    /// An empty set of the picture's tiles.
    package var noTiles: BlockSet { BlockSet(region.size, side: BlockSet.tile) }

    /// Reads tiles of the source, and stores those whose pixels differ from the held ones. The first grab stores all.
    ///
    /// - Parameters:
    ///   - suspects: tiles that may have changed. Others may be read too.
    ///   - changed: set to the changed tiles.
    package func grab(_ suspects: BlockSet, changed: inout BlockSet) throws(X11Error) -> GrabOutcome {
        var wanted = suspects
        if mayHaveMoved {
            let outcome = try followSource()
            if outcome != .grabbed { return outcome }
            // A window may have got other memory.
            if placement.pixmap != nil { wanted.insertAll() }
        }
        if isBlank { wanted.insertAll() }
        precondition(wanted.size == region.size, "tiles of another picture")
        if changed.size == region.size { changed.removeAll() } else { changed = noTiles }
        do throws(X11Error) {
            try read(wanted, changed: &changed)
            isBlank = false
            return .grabbed
        } catch .requestFailed(let request, let code) where code == .badMatch || code == .badDrawable {
            // The source no longer fits on the screen. The event of that change is still on its way.
            let outcome = try followSource()
            if outcome == .grabbed { throw .requestFailed(request, code) }
            return outcome
        }
    }

    /// Lends pixels of the picture, in the form of `format`, in rows of `bytesPerRow`: from the first one of a tile at
    /// least to the end of its row of tiles. Pixels after that row may be of another instant.
    package func withTile<Result>(column: Int, row: Int, _ body: (RawSpan) -> Result) -> Result {
        picture.withTile(column: column, row: row, body)
    }

    /// Updates the place of the source. Returns `grabbed` if it has not changed.
    private func followSource() throws(X11Error) -> GrabOutcome {
        let serial = connection.geometrySerial
        do throws(X11Error) {
            let now = try connection.place(source)
            geometrySerial = serial
            let before = placement
            let wasLost = isLost
            isLost = false
            placement = now
            let isInPlace = region == before.region || now.pixmap != nil && region.size == before.region.size
            if !wasLost, isInPlace, rotation == before.rotation {
                return .grabbed
            }
            if region.size != before.region.size {
                picture = try HeldPicture(size: region.size, format: format, method: method, connection: connection)
            }
            isBlank = true
            return .geometryChanged
        } catch  where error.isSourceAbsent {
            geometrySerial = serial
            isLost = true
            absence = error
            return .sourceLost
        }
    }

    /// Requests all pieces before it waits for the first one: one round trip.
    private func read(_ wanted: BlockSet, changed: inout BlockSet) throws(X11Error) {
        let start = MonotonicClock.threadTime()
        picture.findPieces(covering: wanted, &pieces)
        sequences.removeAll(keepingCapacity: true)
        for piece in pieces {
            let area = wanted.pixels(columns: piece.columns, rows: piece.rows)
            sequences.append(request(area, into: picture.destination(of: piece)))
        }
        var asked = MonotonicClock.threadTime() - start
        for index in pieces.indices {
            do throws(X11Error) {
                try receive(pieces[index], sequences[index], asked: asked, changed: &changed)
                asked = .zero
            } catch {
                for sequence in sequences[(index + 1)...] { xcb_discard_reply(connection.raw, sequence) }
                throw error
            }
        }
    }

    private func request(_ area: PixelRect, into destination: (segment: xcb_shm_seg_t, offset: Int)?) -> UInt32 {
        let x = Int16(placement.x + area.x)
        let y = Int16(placement.y + area.y)
        let width = UInt16(area.width)
        let height = UInt16(area.height)
        let format = UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue)
        guard let (segment, offset) = destination else {
            return xcb_get_image(connection.raw, format, placement.drawable, x, y, width, height, .max).sequence
        }
        return xcb_shm_get_image(
            connection.raw,
            placement.drawable,
            x,
            y,
            width,
            height,
            .max,
            format,
            segment,
            UInt32(offset)
        ).sequence
    }

    /// - Parameter asked: processor time of the request.
    private func receive(
        _ piece: HeldPicture.Piece,
        _ sequence: UInt32,
        asked: Duration,
        changed: inout BlockSet
    ) throws(X11Error) {
        let area = changed.pixels(columns: piece.columns, rows: piece.rows)
        let start = MonotonicClock.threadTime()
        var answered = start
        defer {
            statistics.requestTime += asked + (answered - start)
            statistics.compareTime += MonotonicClock.threadTime() - answered
            statistics.bytes += UInt64(area.width * area.height * format.pixelFormat.bytesPerPixel)
        }
        guard piece.place == .answer else {
            let _: xcb_shm_get_image_reply_t = try connection.value("ShmGetImage", sequence)
            answered = MonotonicClock.threadTime()
            return picture.store(piece, isFirst: isBlank, changed: &changed)
        }
        let image: XReply<xcb_get_image_reply_t> = try connection.reply("GetImage", sequence)
        answered = MonotonicClock.threadTime()
        let count = Int(xcb_get_image_data_length(image.pointer))
        guard count >= format.bytesPerRow(area.width) * area.height else {
            throw .connectionLost(display: connection.display)
        }
        let data = UnsafeRawBufferPointer(start: xcb_get_image_data(image.pointer), count: count)
        picture.store(piece, answer: data, isFirst: isBlank, changed: &changed)
    }
}

extension XConnection {
    /// The first of `methods` that the server accepts, and a warning if it is the slow one.
    fileprivate func bestMethod(of methods: [GrabMethod]) throws(X11Error) -> (GrabMethod, String?) {
        var reason = "shares no memory with other programs"
        for method in methods {
            guard method == .socket || isLocal, supports(method) else { continue }
            do throws(X11Error) {
                _ = try ImageBuffer(method, byteCount: 4096, connection: self)
                return (method, method == .socket ? slowGrabWarning(reason) : nil)
            } catch .requestFailed(let request, let code) {
                reason = "refused shared memory (\(request): \(code))"
            }
        }
        throw .extensionMissing(name: "MIT-SHM", version: "1.2")
    }

    private func slowGrabWarning(_ reason: String) -> String {
        "display \"\(display)\" \(reason): each picture is copied through its socket, which is slow"
    }

    private func supports(_ method: GrabMethod) -> Bool {
        guard method != .socket else { return true }
        guard let sharedMemory = extensions.sharedMemory else { return false }
        return method == .sharedSegment || sharedMemory.version >= (1, 2)
    }
}
