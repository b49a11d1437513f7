import FrameBridge
import Pixels
import Posix
import Time
import X11Capture

/// All objects of one connection to the X server.
final class XSession {
    /// The result of a look at the screen.
    enum Finding: Equatable {
        case sourceLost
        case seen(Sight)
    }

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
    /// Damaged tiles that were not looked at yet.
    private var suspects: BlockSet
    /// Tiles that differ from the last published picture.
    private var unpublished: BlockSet
    /// Used within a look only.
    private var wanted: BlockSet
    private var found: BlockSet
    /// Changed tiles of a sweep that no damage event has named so far.
    private var missed: BlockSet
    /// When the present picture was taken, or the pointer was last looked for; at first the session's beginning.
    private var capturedAt = MonotonicClock.now()

    private var counted = CaptureStatistics()

    var statistics: CaptureStatistics {
        var statistics = counted
        statistics.grabTime = grabber.statistics.requestTime
        statistics.compareTime = grabber.statistics.compareTime
        statistics.bytesGrabbed = grabber.statistics.bytes
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

    init(_ settings: CaptureSettings) throws(X11Error) {
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
        suspects = grabber.noTiles
        unpublished = grabber.noTiles
        wanted = grabber.noTiles
        found = grabber.noTiles
        missed = grabber.noTiles
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

    /// Looks at the screen, and for the pointer.
    func look(_ look: CaptureSchedule.Look) throws(X11Error) -> Finding {
        counted.looks += 1
        var sight = Sight(isDamaged: look.takesDamage)
        let now = MonotonicClock.now()
        let pointer = tracker?.ask()
        let isPresent = try grabChanges(look, &sight)
        // The reply is read even while the source is lost: xcb keeps unread replies for ever.
        let pointerMoved = if let pointer { try updateCursor(pointer) } else { false }
        guard isPresent else { return .sourceLost }
        sight.pointerMoved = pointerMoved
        sight.isNew = !unpublished.isEmpty || cursor != publishedCursor || cursorPlace != publishedPlace
        if sight.isNew || pointerMoved { capturedAt = now }
        return .seen(sight)
    }

    /// Grabs damaged tiles and those of the sweep. Returns false if the source is missing.
    private func grabChanges(_ look: CaptureSchedule.Look, _ sight: inout Sight) throws(X11Error) -> Bool {
        missed.removeAll()
        for attempt in 0..<Self.mostGrabs {
            if sight.isDamaged, let damage {
                try damage.take(addingTo: &suspects, of: region)
                sight.isDamaged = false
            }
            missed.subtract(suspects)
            wanted.removeAll()
            wanted.formUnion(suspects)
            if attempt == 0 { addSweep(look.sweep) }
            if wanted.isEmpty, !grabber.mayHaveMoved, !grabber.isBlank { break }
            // A source that may have moved is grabbed beyond `wanted`. Changes found there are no missed damage.
            let hadMoved = grabber.mayHaveMoved
            var outcome = try grabber.grab(wanted, changed: &found)
            for _ in 0..<Self.mostSizes where outcome == .geometryChanged {
                forgetPublished()
                outcome = try grabber.grab(grabber.noTiles, changed: &found)
            }
            if outcome == .geometryChanged { forgetPublished() }
            guard outcome == .grabbed else { return false }
            unpublished.formUnion(found)
            found.subtract(suspects)
            suspects.removeAll()
            // The server sends the damage event of a drawing before the reply to a later grab. It may announce the
            // second half of a drawing whose first half was just grabbed. So the grab is repeated.
            let events = try drainEvents()
            sight.isDamaged = events.concernPicture
            if events.concernPointer { sight.pointerIsNews = true }
            if attempt == 0, look.sweep != .none, !hadMoved { missed.formUnion(found) }
            if !sight.isDamaged { break }
        }
        // Damage that was not taken yet may name these tiles.
        sight.isMissed = !missed.isEmpty && !sight.isDamaged
        if sight.isMissed { counted.misses += 1 }
        return true
    }

    private func addSweep(_ sweep: CaptureSchedule.Look.Sweep) {
        switch sweep {
        case .none: break
        case .stripe(let index):
            let stripes = CaptureSchedule.stripes
            let rows = wanted.rows * index / stripes..<wanted.rows * (index + 1) / stripes
            wanted.insert(columns: 0..<wanted.columns, rows: rows)
        case .everything: wanted.insertAll()
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
        suspects = grabber.noTiles
        wanted = grabber.noTiles
        missed = grabber.noTiles
        unpublished = grabber.noTiles
        unpublished.insertAll()
        publishedCursor = nil
        publishedPlace = nil
    }

    /// The size of the picture: the region's, rounded up to even.
    private var pictureSize: PixelSize { region.size.roundedUpToEven }

    /// The description of the present picture.
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
            if cursor != publishedCursor || cursorPlace != publishedPlace {
                if let publishedPlace { unpublished.insert(publishedPlace) }
                if let cursorPlace { unpublished.insert(cursorPlace) }
            } else if let cursorPlace, unpublished.containsAny(of: cursorPlace) {
                unpublished.insert(cursorPlace)
            }
            planes.keepAll()
            for row in 0..<unpublished.rows {
                unpublished.forEachRun(inRow: row) { planes.drawOnly(columns: $0, row: row) }
            }
        } else {
            unpublished.insertAll()
        }
        planes.withPlanes { luma, chroma in
            for row in 0..<unpublished.rows {
                unpublished.forEachRun(inRow: row) { convert($0, row: row, &luma, &chroma, layout) }
            }
            guard let cursor, let place = cursorPlace, unpublished.containsAny(of: place) else { return }
            cursor.shape.draw(left: place.x, top: place.y, luma: &luma, chroma: &chroma, layout: layout)
        }
    }

    /// Records that the last drawn picture is published.
    func notePublished() {
        counted.framesPublished += 1
        unpublished.removeAll()
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
        let area = unpublished.pixels(columns: columns, rows: row..<row + 1)
        counted.bytesConverted += UInt64(area.width * area.height * 3 / 2)
        grabber.withTile(column: columns.lowerBound, row: row) { pixels in
            converter.convert(
                pixels,
                stride: grabber.bytesPerRow,
                size: area.size,
                luma: &luma,
                chroma: &chroma,
                layout: layout,
                atX: area.x,
                y: area.y
            )
        }
    }

    /// The place of the pointer's image in the picture; may reach beyond it.
    private var cursorPlace: PixelRect? { cursor?.region.moved(x: -region.x, y: -region.y) }
}
