import CXCB
import Glibc

/// What became of a grab that did not fail.
package enum GrabOutcome: Equatable, Sendable {
    /// The rows asked for are in the buffer.
    case grabbed
    /// The source has moved or has another size: `region` is new, the buffers hold nothing, grab again in full.
    case geometryChanged
    /// The source is not there at present. Later grabs look for it and say `geometryChanged` when it is back.
    case sourceLost
}

/// Grabs the picture of a source into buffers that it owns.
///
/// Contract: drain the connection's events before each grab. Only then does it notice that a monitor has moved.
package final class ScreenGrabber {
    package let source: CaptureSource
    package let format: ImageFormat
    /// How the pixels come; settled at the start.
    package let method: GrabMethod
    /// One sentence to log, once, when grabbing will be slow.
    package let warning: String?
    /// Where the source lies, or lay when it was last seen.
    package private(set) var region: CaptureRegion

    private let connection: XConnection
    private var buffers: [ImageBuffer] = []
    private let bufferCount: Int
    private var isLost = false
    private var geometrySerial: Int

    /// Finds the source and the best method that works.
    ///
    /// - Parameters:
    ///   - buffers: how many pictures to hold at a time, at least one.
    ///   - methods: the methods to try, best first.
    package init(
        connection: XConnection,
        source: CaptureSource,
        buffers count: Int = 1,
        methods: [GrabMethod] = GrabMethod.allCases
    ) throws(X11Error) {
        precondition(count > 0 && !methods.isEmpty)
        let format = try connection.imageFormat()
        let region = try connection.region(of: source)
        (method, warning) = try connection.bestMethod(of: methods)
        self.connection = connection
        self.source = source
        self.format = format
        self.region = region
        bufferCount = count
        geometrySerial = connection.geometrySerial
        try allocate()
    }

    /// The bytes from one row of the picture to the next, in every buffer.
    package var bytesPerRow: Int { format.bytesPerRow(region.width) }

    /// Grabs rows of the source, counted from its top, into the same rows of a buffer; all rows when nil.
    package func grab(into buffer: Int = 0, rows: Range<Int>? = nil) throws(X11Error) -> GrabOutcome {
        if isLost || geometrySerial != connection.geometrySerial {
            let outcome = try followSource()
            if outcome != .grabbed { return outcome }
        }
        let rows = rows ?? 0..<region.height
        precondition(rows.lowerBound >= 0 && rows.upperBound <= region.height, "rows beyond the source")
        if rows.isEmpty { return .grabbed }
        do throws(X11Error) {
            try read(rows, into: buffers[buffer])
            return .grabbed
        } catch .requestFailed(let request, .badMatch) {
            // The source no longer fits on the screen, and the event that says so is still on its way.
            let outcome = try followSource()
            if outcome == .grabbed { throw .requestFailed(request, .badMatch) }
            return outcome
        }
    }

    /// Lends the picture in a buffer: `region.height` rows of `bytesPerRow` bytes, as `format` describes them.
    package func withPicture<Result, Failure: Error>(
        in buffer: Int = 0,
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(buffers[buffer].bytes)))
    }

    /// Whether two buffers hold the same pixels, padding included.
    package func holdsSamePicture(in first: Int, and second: Int) -> Bool {
        let (first, second) = (buffers[first].bytes, buffers[second].bytes)
        return memcmp(first.baseAddress!, second.baseAddress!, first.count) == 0
    }

    /// Looks where the source is now. `grabbed` means: where it was.
    private func followSource() throws(X11Error) -> GrabOutcome {
        let serial = connection.geometrySerial
        do throws(X11Error) {
            let now = try connection.region(of: source)
            geometrySerial = serial
            if now == region && !isLost { return .grabbed }
            isLost = false
            region = now
            try allocate()
            return .geometryChanged
        } catch  where error.isSourceAbsent {
            geometrySerial = serial
            isLost = true
            return .sourceLost
        }
    }

    private func allocate() throws(X11Error) {
        let byteCount = bytesPerRow * region.height
        guard buffers.first?.bytes.count != byteCount else { return }
        buffers = []
        for _ in 0..<bufferCount {
            buffers.append(try ImageBuffer(method, byteCount: byteCount, connection: connection))
        }
    }

    private func read(_ rows: Range<Int>, into buffer: ImageBuffer) throws(X11Error) {
        let offset = rows.lowerBound * bytesPerRow
        let x = Int16(region.x)
        let y = Int16(region.y + rows.lowerBound)
        let width = UInt16(region.width)
        let format = UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue)
        if let segment = buffer.segment {
            let request = xcb_shm_get_image(
                connection.raw,
                connection.root,
                x,
                y,
                width,
                UInt16(rows.count),
                .max,
                format,
                segment,
                UInt32(offset)
            )
            _ = try connection.reply("ShmGetImage", request.sequence, as: xcb_shm_get_image_reply_t.self)
        } else {
            let request = xcb_get_image(
                connection.raw,
                format,
                connection.root,
                x,
                y,
                width,
                UInt16(rows.count),
                .max
            )
            let image = try connection.reply("GetImage", request.sequence, as: xcb_get_image_reply_t.self)
            let count = min(Int(xcb_get_image_data_length(image.pointer)), rows.count * bytesPerRow)
            let data = UnsafeRawBufferPointer(start: xcb_get_image_data(image.pointer), count: count)
            UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[offset...]).copyMemory(from: data)
        }
    }
}

extension XConnection {
    /// The first of `methods` that the server takes, and a warning if that is the slow one.
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
        return method == .sharedSegment || sharedMemory.version >= .init(major: 1, minor: 2)
    }
}
