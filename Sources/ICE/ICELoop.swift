internal import CNice
package import Time

/// The main context of agents. One thread creates it and its agents, and runs it. Any thread may wake it.
package final class ICELoop {
    let context: OpaquePointer
    private let timer: UnsafeMutablePointer<GSource>

    package init() {
        context = g_main_context_new()
        timer = oriel_timer_new(context)
    }

    /// The number of agents that are still releasing their allocations.
    var closingCount = 0

    /// Lets released agents release their allocations at relays, for half a second at the most.
    package func finish(from now: Instant) {
        let deadline = now + .milliseconds(500)
        while closingCount > 0, Instant(nanoseconds: UInt64(g_get_monotonic_time()) * 1000) < deadline {
            run(until: deadline)
        }
    }

    private var watched: [(source: UnsafeMutablePointer<GSource>, ready: Ready)] = []

    private final class Ready {
        let handler: () -> Void
        init(_ handler: @escaping () -> Void) { self.handler = handler }
    }

    /// Calls `ready` from within `run` while a descriptor is readable. The descriptor stays open as long as this loop.
    package func watch(_ descriptor: Int32, ready handler: @escaping () -> Void) {
        let ready = Ready(handler)
        let source = oriel_watch_new(
            context,
            descriptor,
            { _, _, ready in
                Unmanaged<Ready>.fromOpaque(ready!).takeUnretainedValue().handler()
                return gboolean(1)
            },
            Unmanaged.passUnretained(ready).toOpaque()
        )
        watched.append((source!, ready))
    }

    deinit {
        for (source, _) in watched {
            g_source_destroy(source)
            g_source_unref(source)
        }
        g_source_destroy(timer)
        g_source_unref(timer)
        g_main_context_unref(context)
    }

    /// Waits for events, until `deadline` or for ever, and lets the agents handle them.
    package func run(until deadline: Instant?) {
        oriel_timer_set(timer, deadline.map { Int(clamping: $0.nanoseconds / 1000 + 1) } ?? -1)
        guard g_main_context_iteration(context, 1) != 0 else { return }
        // Further events are handled too, up to a limit: a flooded socket must not keep the media waiting.
        for _ in 0..<64 where g_main_context_iteration(context, 0) == 0 { return }
    }

    /// Ends the wait of `run`, or the next one if there is none now.
    package var waker: Waker { Waker(context: context) }

    /// Keeps the context, so that waking is safe even after the loop is gone.
    package final class Waker: @unchecked Sendable {  // GLib counts references and wakes from any thread
        private let context: OpaquePointer

        init(context: OpaquePointer) { self.context = g_main_context_ref(context) }

        deinit { g_main_context_unref(context) }

        package func wake() { g_main_context_wakeup(context) }
    }
}
