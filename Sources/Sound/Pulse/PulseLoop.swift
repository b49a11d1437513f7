import CPulse
import Glibc
import Posix
import Time

/// The loop in which libpulse works, on the thread that turns it.
final class PulseLoop {
    private let loop: OpaquePointer
    let api: UnsafeMutablePointer<pa_mainloop_api>

    /// Make it once in a process, before there are threads.
    init() {
        // libpulse would ask the X server for the address of its sound server, and wait for a frozen one.
        unsetenv("DISPLAY")
        guard let loop = pa_mainloop_new(), let api = pa_mainloop_get_api(loop) else {
            preconditionFailure("libpulse has no memory or descriptors for its loop")
        }
        (self.loop, self.api) = (loop, api)
    }

    deinit { pa_mainloop_free(loop) }

    /// Makes a context for a connection to a sound server, and does not connect it. The caller releases it.
    func makeContext() -> OpaquePointer {
        let properties = pa_proplist_new()
        defer { pa_proplist_free(properties) }
        pa_proplist_sets(properties, PA_PROP_APPLICATION_NAME, "Oriel")
        guard let context = pa_context_new_with_proplist(api, nil, properties) else {
            preconditionFailure("libpulse has no memory for a connection")
        }
        return context
    }

    /// A descriptor that ends the sleep of `turn` when it is readable.
    final class Watch: CallbackTarget {
        fileprivate var isReadable = false

        /// Whether it was readable since the last call.
        func takeReadable() -> Bool { exchange(&isReadable, with: false) }
    }

    private var watches: [Watch] = []

    /// Watches a descriptor from now on. A negative one is never readable.
    func watch(_ descriptor: Int32) -> Watch {
        let watch = Watch()
        watches.append(watch)
        guard descriptor >= 0 else { return watch }
        let note: pa_io_event_cb_t = { _, _, _, _, watch in Watch.of(watch).isReadable = true }
        _ = api.pointee.io_new(api, descriptor, PA_IO_EVENT_INPUT, note, watch.address)
        return watch
    }

    /// Sleeps until libpulse has work, a descriptor is readable or, unless nil, an instant has come. Then does the
    /// work.
    func turn(until deadline: Instant?) {
        let microseconds = deadline.map { deadline in
            Int32(clamping: max(0, (deadline - MonotonicClock.now()).nanoseconds + 999) / 1000)
        }
        if pa_mainloop_prepare(loop, microseconds ?? -1) >= 0, pa_mainloop_poll(loop) >= 0 {
            pa_mainloop_dispatch(loop)
        }
    }
}
