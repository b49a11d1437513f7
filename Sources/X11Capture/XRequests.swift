import CXCB
import Glibc
import Posix
import Time

/// The answer to a request, freed with its owner.
struct XReply<Body>: ~Copyable {
    let pointer: UnsafeMutablePointer<Body>

    var value: Body { pointer.pointee }

    deinit { free(pointer) }
}

extension XConnection {
    /// Waits for the answer to the request of this `sequence` number.
    ///
    /// - Parameter request: its name in the protocol, for the error message.
    func reply<Body>(_ request: String, _ sequence: UInt32) throws(X11Error) -> XReply<Body> {
        guard let reply = try completion(of: request, sequence) else { throw lost }
        return XReply(pointer: reply.assumingMemoryBound(to: Body.self))
    }

    /// The same, for an answer of which only the part of fixed length is needed.
    func value<Body>(_ request: String, _ sequence: UInt32) throws(X11Error) -> Body {
        let reply: XReply<Body> = try reply(request, sequence)
        return reply.value
    }

    /// Waits until the server has performed a checked request without an answer.
    func check(_ request: String, _ cookie: xcb_void_cookie_t) throws(X11Error) {
        // Only the answer to a later request shows that this one succeeded.
        let later = xcb_get_input_focus(raw).sequence
        defer { xcb_discard_reply(raw, later) }
        let reply = try completion(of: request, cookie.sequence)
        free(reply)
        if xcb_connection_has_error(raw) != 0 { throw lost }
    }

    /// Waits until the server has performed all requests so far.
    package func synchronize() throws(X11Error) {
        let _: xcb_get_input_focus_reply_t = try value("GetInputFocus", xcb_get_input_focus(raw).sequence)
    }

    private static let longestAnswer = Duration.seconds(20)

    var lost: X11Error { .connectionLost(display: display) }

    private func completion(of request: String, _ sequence: UInt32) throws(X11Error) -> UnsafeMutableRawPointer? {
        xcb_flush(raw)
        // Each piece of an answer renews the timeout: a picture from a remote display may take long. The total is
        // limited, because the data may be other than the answer.
        let start = MonotonicClock.now()
        let end = start + Self.longestAnswer
        var deadline = start + timeout
        while true {
            var reply: UnsafeMutableRawPointer?
            var error: UnsafeMutablePointer<xcb_generic_error_t>?
            if xcb_poll_for_reply(raw, sequence, &reply, &error) == 1 {
                guard let error else { return reply }
                defer { free(error) }
                throw .requestFailed(request, XErrorCode(value: error.pointee.error_code))
            }
            guard MonotonicClock.now() < min(deadline, end) else {
                xcb_discard_reply(raw, sequence)
                throw .notResponding(display: display)
            }
            if waitReadable(fileDescriptor, until: deadline) { deadline = MonotonicClock.now() + timeout }
        }
    }
}
