import CXCB
import Glibc
import Posix

/// A connection to one screen of an X server. It is closed with the last object that uses it.
///
/// One thread uses it. X errors are thrown by the request that caused them, and no call waits longer than the timeout.
/// After `.notResponding` the connection is still good: the server may wake up again. After `.connectionLost` it is
/// not.
package final class XConnection {
    /// The display's name, such as `:0`.
    package let display: String
    let raw: OpaquePointer
    let root: xcb_window_t
    let screen: UnsafeMutablePointer<xcb_screen_t>
    /// The longest wait for an answer.
    let timeout: Duration
    private(set) var extensions = XExtensions()

    /// Counts the changes of geometry in `drainEvents()`, so that grabbers know when to look again.
    var geometrySerial = 0

    /// Windows whose pixels the server keeps apart from the screen's for this connection (`redirect`).
    var redirected: Set<xcb_window_t> = []

    /// Connects to `display`, or to the one in the environment.
    ///
    /// - Parameters:
    ///   - display: `:0`, `:0.1` (a screen number) or `host:0`.
    ///   - timeout: how long to wait for each answer of the server.
    package init(display: String? = nil, timeout: Duration = .seconds(3)) throws(X11Error) {
        guard let name = display ?? getenv("DISPLAY").map({ String(cString: $0) }), !name.isEmpty else {
            throw .noDisplayNamed
        }
        let (raw, screenNumber) = try XConnector.connect(to: name, timeout: timeout)
        self.display = name
        self.timeout = timeout
        self.raw = raw
        var screens = xcb_setup_roots_iterator(xcb_get_setup(raw))
        for _ in 0..<screenNumber { xcb_screen_next(&screens) }
        screen = screens.data
        root = screen.pointee.root
        extensions = try queryExtensions()
        try selectGeometryEvents()
    }

    deinit { xcb_disconnect(raw) }

    /// Readable when `drainEvents()` may have events. Owned by the connection.
    package var fileDescriptor: Int32 { xcb_get_file_descriptor(raw) }
}
