internal import CNice

/// The main context that agents live in. One thread creates it, its agents and runs it; any thread may wake it.
package final class ICELoop {
    let context: OpaquePointer
    private let timer: UnsafeMutablePointer<GSource>

    package init() {
        context = g_main_context_new()
        timer = oriel_timer_new(context)
    }

    deinit {
        g_source_destroy(timer)
        g_source_unref(timer)
        g_main_context_unref(context)
    }

    /// Waits for something to happen, until `deadline` (nanoseconds of CLOCK_MONOTONIC) at the longest or for ever, and
    /// lets the agents act on it.
    package func run(until deadline: UInt64?) {
        g_source_set_ready_time(timer, deadline.map { Int(clamping: ($0 + 999) / 1000) } ?? -1)
        g_main_context_iteration(context, 1)
        // What else is ready needs no further wait.
        while g_main_context_iteration(context, 0) != 0 {}
    }

    /// Ends the wait of `run`; also the next one, if none is under way.
    package var waker: Waker { Waker(context: context) }

    package struct Waker: @unchecked Sendable {  // g_main_context_wakeup may be called from any thread
        private let context: OpaquePointer

        init(context: OpaquePointer) { self.context = context }

        package func wake() { g_main_context_wakeup(context) }
    }
}
