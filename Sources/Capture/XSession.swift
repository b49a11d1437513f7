import FrameBridge
import Pixels
import Posix
import Time
import X11Capture

/// All objects of one connection to the X server.
final class XSession {
    struct Sight: Equatable {
        /// The picture differs from the last published one.
        var isNew = false
        /// The pointer has moved or changed its image.
        var pointerMoved = false
        /// A sweep found changed tiles for which the server had sent no damage event.
        var isMissed = false
        /// There is damage without a look.
        var isDamaged = false
        /// The pointer may have changed since the last question.
        var pointerIsNews = false
    }

    private struct Tiles {
        /// Damaged tiles that were not looked at yet.
        var suspects: BlockSet
        /// Tiles that differ from the last published picture.
        var unpublished: BlockSet
        /// Used within a look only.
        var wanted: BlockSet
        var found: BlockSet
        /// Changed tiles of a sweep that no damage event has named so far.
        var missed: BlockSet

        init(_ none: BlockSet) { (suspects, unpublished, wanted, found, missed) = (none, none, none, none, none) }
    }

    /// The most grabs of one look. A grab is repeated if there was drawing meanwhile.
    private static let mostGrabs = 3
    /// How often a look begins anew for a source that keeps changing its size.
    private static let mostSizes = 10

    private let connection: XConnection
    private let interval: Duration
    private let grabber: ScreenGrabber
    private let damage: DamageMonitor?
    private let tracker: CursorTracker?
    /// The process of the source's window; nil if it is no window, or its process is unknown.
    let windowProcess: Int32?
    private let converter: NV12Converter
    private var cursor: Cursor?
    private var publishedCursor: Cursor?
    /// The place of the pointer in the picture.
    private var publishedPlace: PixelRect?
    private var cursorEvents = XEvents()
    private var tiles: Tiles
    /// When the present picture was taken, or the pointer was last looked for; at first the session's beginning.
    private var capturedAt = MonotonicClock.now()

    private var counted: CaptureStatistics

    /// The work of this session and of those before it.
    var statistics: CaptureStatistics {
        var statistics = counted
        statistics.grabTime += grabber.statistics.requestTime
        statistics.compareTime += grabber.statistics.compareTime
        statistics.bytesGrabbed += grabber.statistics.bytes
        return statistics
    }

    /// A sentence for the user if grabbing will be slow.
    var warning: String? { grabber.warning }
    var display: String { connection.display }
    /// The source. A window has its mark, so that no other window can be meant.
    var source: CaptureSource { grabber.source }
    var fileDescriptor: Int32 { connection.fileDescriptor }
    var region: PixelRect { grabber.region }
    /// The reason why a look found no source, for people.
    var absence: String {
        switch grabber.absence {
        case .windowHidden: "hidden"
        case .windowTooLarge(_, let size): "too large to be shared (\(size.width)x\(size.height))"
        default: "gone"
        }
    }

    /// - Parameter past: the work of the sessions before.
    init(_ settings: CaptureSettings, after past: CaptureStatistics = CaptureStatistics()) throws(X11Error) {
        // The tiles of the comparison are those of the bridge.
        precondition(FramePlanes.tileSide == BlockSet.tile)
        settings.willConnect()
        connection = try XConnection(display: settings.display, timeout: .seconds(1))
        interval = .seconds(1) / settings.framesPerSecond
        grabber = try ScreenGrabber(connection: connection, source: settings.source)
        damage = try DamageMonitor(connection: connection, source: settings.source)
        tracker = settings.showsCursor ? try CursorTracker(connection: connection) : nil
        windowProcess = if case .window(let window, _) = settings.source { connection.process(of: window) } else { nil }
        converter = NV12Converter(from: grabber.format.pixelFormat)
        tiles = Tiles(grabber.noTiles)
        counted = past
    }

    /// The schedule of looks at this screen. The first look is due `now`.
    func schedule(at now: Instant) -> CaptureSchedule {
        let hasMotion = tracker?.hasMotionEvents ?? true
        return CaptureSchedule(interval: interval, hasDamage: damage != nil, hasMotion: hasMotion, at: now)
    }

    /// Reads the server's events, without those of the pointer if it is not shown.
    func drainEvents() throws(X11Error) -> XEvents {
        var events = try connection.drainEvents()
        cursorEvents.formUnion(events)
        if tracker == nil {
            events.remove(.pointerMoved)
            events.remove(.cursorChanged)
        }
        return events
    }

    /// Looks at the screen, and for the pointer. Nil if the source is not there.
    func look(_ look: CaptureSchedule.Look) throws(X11Error) -> Sight? {
        counted.looks += 1
        var sight = Sight(isDamaged: look.takesDamage)
        let now = MonotonicClock.now()
        let pointer = tracker?.ask()
        let isPresent = try grabChanges(look, &sight)
        // The reply is read even while the source is lost: xcb keeps unread replies for ever.
        let pointerMoved = if let pointer { try updateCursor(pointer) } else { false }
        guard isPresent else { return nil }
        sight.pointerMoved = pointerMoved
        sight.isNew = !tiles.unpublished.isEmpty || cursor != publishedCursor || cursorPlace != publishedPlace
        if sight.isNew || pointerMoved { capturedAt = now }
        return sight
    }

    /// Grabs damaged tiles and those of the sweep. Returns false if the source is missing.
    private func grabChanges(_ look: CaptureSchedule.Look, _ sight: inout Sight) throws(X11Error) -> Bool {
        tiles.missed.removeAll()
        for attempt in 0..<Self.mostGrabs {
            if sight.isDamaged, let damage {
                try damage.take(addingTo: &tiles.suspects, of: region)
                sight.isDamaged = false
            }
            tiles.missed.subtract(tiles.suspects)
            tiles.wanted.removeAll()
            tiles.wanted.formUnion(tiles.suspects)
            if attempt == 0 { addSweep(look.sweep) }
            if tiles.wanted.isEmpty, !grabber.mayHaveMoved, !grabber.isBlank { break }
            // A source that may have moved is grabbed beyond `wanted`. Changes found there are no missed damage.
            let hadMoved = grabber.mayHaveMoved
            var outcome = try grabber.grab(tiles.wanted, changed: &tiles.found)
            for _ in 0..<Self.mostSizes where outcome == .geometryChanged {
                forgetPublished()
                outcome = try grabber.grab(grabber.noTiles, changed: &tiles.found)
            }
            if outcome == .geometryChanged { forgetPublished() }
            guard outcome == .grabbed else { return false }
            tiles.unpublished.formUnion(tiles.found)
            tiles.found.subtract(tiles.suspects)
            tiles.suspects.removeAll()
            // The server sends the damage event of a drawing before the reply to a later grab. It may announce the
            // second half of a drawing whose first half was just grabbed. So the grab is repeated.
            let events = try drainEvents()
            sight.isDamaged = events.concernPicture
            if events.concernPointer { sight.pointerIsNews = true }
            if attempt == 0, look.sweep != .none, !hadMoved { tiles.missed.formUnion(tiles.found) }
            if !sight.isDamaged { break }
        }
        // Damage that was not taken yet may name these tiles.
        sight.isMissed = !tiles.missed.isEmpty && !sight.isDamaged
        if sight.isMissed { counted.misses += 1 }
        return true
    }

    private func addSweep(_ sweep: CaptureSchedule.Look.Sweep) {
        switch sweep {
        case .none: break
        case .stripe(let index, let count):
            let rows = tiles.wanted.rows * index / count..<tiles.wanted.rows * (index + 1) / count
            tiles.wanted.insert(columns: 0..<tiles.wanted.columns, rows: rows)
        case .everything: tiles.wanted.insertAll()
        }
    }

    private func updateCursor(_ question: consuming CursorTracker.Question) throws(X11Error) -> Bool {
        guard let tracker else { return false }
        let before = cursor
        let seen = try tracker.answer(question, after: cursorEvents)
        cursorEvents = XEvents()
        // A pointer outside of the region counts as none.
        cursor = seen.flatMap { $0.region.intersection(region) == nil ? nil : $0 }
        return cursor != before
    }

    /// Readers no longer have the last published picture: the next one is drawn as a whole.
    func forgetPublished() {
        tiles = Tiles(grabber.noTiles)
        tiles.unpublished.insertAll()
        publishedCursor = nil
        publishedPlace = nil
    }

    private var pictureSize: PixelSize { region.size.roundedUpToEven }

    var frameInfo: FrameInfo {
        FrameInfo(
            width: pictureSize.width,
            height: pictureSize.height,
            capturedAt: capturedAt,
            source: SourceRectangle(x: region.x, y: region.y, width: region.width, height: region.height),
            orientation: Orientation(rotation: grabber.rotation)
        )
    }

    /// Draws the differences from the last published picture, with the pointer.
    func draw(on planes: inout FramePlanes) {
        let start = MonotonicClock.threadTime()
        defer { counted.convertTime += MonotonicClock.threadTime() - start }
        let size = pictureSize
        let layout = NV12Layout(size: size, lumaStride: planes.stride, chromaStride: planes.stride)
        if planes.followsAnother {
            planes.keepAll()
            tiles.unpublished.forEachRun { planes.drawOnly(columns: $0, row: $1) }
            if cursor != publishedCursor || cursorPlace != publishedPlace {
                if let publishedPlace { tiles.unpublished.insert(publishedPlace) }
                if let cursorPlace { tiles.unpublished.insert(cursorPlace) }
            } else if let cursorPlace, tiles.unpublished.containsAny(of: cursorPlace) {
                tiles.unpublished.insert(cursorPlace)
            }
            tiles.unpublished.forEachRun { planes.drawPointer(columns: $0, row: $1) }
        } else {
            tiles.unpublished.insertAll()
        }
        planes.withPlanes { luma, chroma in
            tiles.unpublished.forEachRun { convert($0, row: $1, &luma, &chroma, layout) }
            guard let cursor, let place = cursorPlace, tiles.unpublished.containsAny(of: place) else { return }
            cursor.shape.draw(left: place.x, top: place.y, luma: &luma, chroma: &chroma, layout: layout)
        }
    }

    /// Records that the last drawn picture is published.
    func notePublished() {
        counted.framesPublished += 1
        tiles.unpublished.removeAll()
        publishedCursor = cursor
        publishedPlace = cursorPlace
    }

    private func convert(
        _ columns: Range<Int>,
        row: Int,
        _ luma: inout MutableRawSpan,
        _ chroma: inout MutableRawSpan,
        _ layout: NV12Layout
    ) {
        let area = tiles.unpublished.pixels(columns: columns, rows: row..<row + 1)
        counted.bytesConverted += UInt64(area.width * area.height * 3 / 2)
        grabber.withTile(column: columns.lowerBound, row: row) { pixels in
            converter.convert(
                pixels,
                stride: grabber.bytesPerRow,
                size: area.size,
                luma: &luma,
                chroma: &chroma,
                layout: layout,
                at: (area.x, area.y)
            )
        }
    }

    /// The place of the pointer's image in the picture; may reach beyond it.
    private var cursorPlace: PixelRect? { cursor?.region.moved(x: -region.x, y: -region.y) }
}
