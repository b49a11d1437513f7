import FrameBridge
import Pixels
import Posix
import X11Capture

/// Everything that lives as long as one connection to the X server.
final class XSession {
    enum Look: Equatable {
        /// There is a picture that has not been published.
        case changed
        /// The screen is as it was, and the pointer is not.
        case pointerMoved
        case unchanged
        case sourceLost
    }

    private let connection: XConnection
    private let grabber: ScreenGrabber
    private let damage: DamageMonitor?
    private let tracker: CursorTracker?
    private var converter: NV12Converter
    private var cursor: Cursor?
    private var unseenEvents: XEvents = []
    /// Which of the grabber's two buffers holds the present picture.
    private var current = 0
    /// When the present picture was taken, or the pointer in it last looked for.
    private(set) var capturedAt: UInt64 = 0

    /// One sentence to tell the user when grabbing will be slow.
    var warning: String? { grabber.warning }
    var display: String { connection.display }
    var fileDescriptor: Int32 { connection.fileDescriptor }
    var hasDamage: Bool { damage != nil }
    var region: CaptureRegion { grabber.region }

    init(_ settings: CaptureSettings) throws(X11Error) {
        connection = try XConnection(display: settings.display, timeout: .seconds(1))
        grabber = try ScreenGrabber(connection: connection, source: settings.source, buffers: 2)
        damage = try DamageMonitor(connection: connection)
        tracker = settings.showsCursor ? try CursorTracker(connection: connection) : nil
        converter = NV12Converter(from: grabber.format.pixelFormat)
    }

    /// Reads what the server told. Returns whether something was drawn or the geometry changed.
    func drainEvents() throws(X11Error) -> Bool {
        let events = try connection.drainEvents()
        unseenEvents.formUnion(events)
        return !events.isDisjoint(with: [.damaged, .geometryChanged])
    }

    /// Looks where the pointer is. Returns whether the picture of it changed.
    func updateCursor() throws(X11Error) -> Bool {
        guard let tracker else { return false }
        let before = cursor
        let now = MonotonicClock.now()
        let found = try tracker.update(after: unseenEvents)
        unseenEvents = []
        // A pointer beside the picture is none.
        cursor = found.flatMap { $0.region.intersection(region).isEmpty ? nil : $0 }
        guard cursor != before else { return false }
        capturedAt = now
        return true
    }

    /// Grabs the picture.
    func look(_ grab: CaptureSchedule.Grab) throws(X11Error) -> Look {
        damage?.acknowledge()
        let target = grab == .sweep ? 1 - current : current
        capturedAt = MonotonicClock.now()
        switch try grabber.grab(into: target) {
        case .grabbed: break
        case .geometryChanged:
            current = 0
            capturedAt = MonotonicClock.now()
            guard try grabber.grab(into: 0) == .grabbed else { return .sourceLost }
            _ = try updateCursor()
            return .changed
        case .sourceLost: return .sourceLost
        }
        current = target
        let pointerMoved = try updateCursor()
        if grab == .changed || !grabber.holdsSamePicture(in: 0, and: 1) { return .changed }
        return pointerMoved ? .pointerMoved : .unchanged
    }

    /// The size of the picture: the region's, rounded up to even.
    private var pictureSize: PixelSize { PixelSize(width: region.width, height: region.height).roundedUpToEven }

    /// What is known of the present picture besides its pixels.
    var frameInfo: FrameInfo {
        FrameInfo(
            width: pictureSize.width,
            height: pictureSize.height,
            capturedAt: capturedAt,
            source: SourceRectangle(x: region.x, y: region.y, width: region.width, height: region.height)
        )
    }

    /// Converts the present picture, with the pointer in it.
    func draw(luma: inout MutableRawSpan, chroma: inout MutableRawSpan, stride: Int) {
        let layout = NV12Layout(size: pictureSize, lumaStride: stride, chromaStride: stride)
        grabber.withPicture(in: current) { picture in
            converter.convert(
                picture,
                stride: grabber.bytesPerRow,
                size: PixelSize(width: region.width, height: region.height),
                luma: &luma,
                chroma: &chroma,
                layout: layout
            )
        }
        guard let cursor else { return }
        cursor.shape.draw(
            left: cursor.region.x - region.x,
            top: cursor.region.y - region.y,
            luma: &luma,
            chroma: &chroma,
            layout: layout
        )
    }
}
