import CXCB
import Glibc
import Posix
import Synchronization
import Time

/// Runs `xcb_connect`, which a frozen server can block for ever, on a thread of its own.
final class XConnector: Sendable {
    /// A connection on its way from the helper thread to its owner. Only one of them holds it at a time.
    private struct Handle: @unchecked Sendable {
        let raw: OpaquePointer
        let screenNumber: Int32
        /// `errno` after the connection.
        let code: Int32
    }

    private enum State {
        case connecting
        case connected(Handle)
        case abandoned
    }

    /// The most helper threads. A frozen server holds each of them until it continues or ends.
    private static let mostThreads = 8
    private static let threads = Atomic<Int>(0)

    private let display: String
    private let state = Mutex(State.connecting)
    /// Set by the helper thread when `xcb_connect` has returned.
    private let isDone: EventSignal

    /// Connects to `display` and returns the connection with its default screen's number. Gives up after `timeout` with
    /// `.notResponding`. The helper thread then cleans up when it can.
    static func connect(
        to display: String,
        timeout: Duration
    ) throws(X11Error) -> (raw: OpaquePointer, screenNumber: Int) {
        let connector = try XConnector(display)
        try connector.start()
        guard let handle = connector.takeHandle(timeout: timeout) else { throw .notResponding(display: display) }
        let status = xcb_connection_has_error(handle.raw)
        if status == 0 { return (handle.raw, Int(handle.screenNumber)) }
        xcb_disconnect(handle.raw)
        // xcb tells some lacks of memory as errors of the connection.
        if status == XCB_CONN_CLOSED_MEM_INSUFFICIENT || handle.code == ENOMEM {
            throw .system(SystemError("xcb_connect", code: ENOMEM))
        }
        throw status == XCB_CONN_CLOSED_INVALID_SCREEN
            ? .noSuchScreen(display: display) : .cannotConnect(display: display)
    }

    private init(_ display: String) throws(X11Error) {
        self.display = display
        do throws(SystemError) { isDone = try EventSignal() } catch { throw .system(error) }
    }

    private func start() throws(X11Error) {
        guard Self.threads.add(1, ordering: .relaxed).newValue <= Self.mostThreads else {
            Self.threads.subtract(1, ordering: .relaxed)
            throw .notResponding(display: display)
        }
        do throws(SystemError) {
            _ = try Thread { [self] in
                run()
                Self.threads.subtract(1, ordering: .relaxed)
            }
        } catch {
            Self.threads.subtract(1, ordering: .relaxed)
            throw .system(error)
        }
    }

    private func run() {
        var screenNumber: Int32 = 0
        errno = 0
        let raw: OpaquePointer = xcb_connect(display, &screenNumber)
        let handle = Handle(raw: raw, screenNumber: screenNumber, code: errno)
        let wanted = state.withLock { state in
            if case .abandoned = state { return false }
            state = .connected(handle)
            return true
        }
        if wanted { isDone.set() } else { xcb_disconnect(handle.raw) }
    }

    private func takeHandle(timeout: Duration) -> Handle? {
        waitReadable(isDone.raw, until: MonotonicClock.now() + timeout)
        return state.withLock { state in
            if case .connected(let handle) = state { return handle }
            state = .abandoned
            return nil
        }
    }
}
