import CPulse
import Glibc
import Posix
import Time

/// The loop in which libpulse does its work, on the thread that turns it.
final class PulseLoop {
    private let loop: OpaquePointer
    let api: UnsafeMutablePointer<pa_mainloop_api>

    /// Once in a process, before it has threads.
    init() {
        // libpulse would ask the X server for the address of its sound server, and wait for one that is frozen.
        unsetenv("DISPLAY")
        guard let loop = pa_mainloop_new(), let api = pa_mainloop_get_api(loop) else {
            preconditionFailure("libpulse has no memory or descriptors for its loop")
        }
        (self.loop, self.api) = (loop, api)
    }

    deinit { pa_mainloop_free(loop) }

    /// Makes a connection to a sound server, without connecting it. The caller lets go of it.
    func makeContext() -> OpaquePointer {
        let properties = pa_proplist_new()
        defer { pa_proplist_free(properties) }
        pa_proplist_sets(properties, PA_PROP_APPLICATION_NAME, "Oriel")
        guard let context = pa_context_new_with_proplist(api, nil, properties) else {
            preconditionFailure("libpulse has no memory for a connection")
        }
        return context
    }

    /// A descriptor that ends the sleep of `turn` when it can be read.
    final class Watch {
        fileprivate var isReadable = false

        /// Whether it could be read since the last call.
        func takeReadable() -> Bool {
            defer { isReadable = false }
            return isReadable
        }
    }

    private var watches: [Watch] = []

    /// Watches a descriptor from now on; a negative one never can be read.
    func watch(_ descriptor: Int32) -> Watch {
        let watch = Watch()
        watches.append(watch)
        guard descriptor >= 0 else { return watch }
        let note: pa_io_event_cb_t = { _, _, _, _, watch in
            Unmanaged<Watch>.fromOpaque(watch!).takeUnretainedValue().isReadable = true
        }
        _ = api.pointee.io_new(api, descriptor, PA_IO_EVENT_INPUT, note, Unmanaged.passUnretained(watch).toOpaque())
        return watch
    }

    /// Sleeps until libpulse has something to do, a descriptor can be read or, unless nil, an instant has come; and does what there is to
    /// do.
    func turn(until deadline: Instant?) {
        let microseconds = deadline.map { deadline in
            Int32(clamping: max(0, (deadline - MonotonicClock.now()).nanoseconds + 999) / 1000)
        }
        if pa_mainloop_prepare(loop, microseconds ?? -1) >= 0, pa_mainloop_poll(loop) >= 0 {
            pa_mainloop_dispatch(loop)
        }
    }
}
