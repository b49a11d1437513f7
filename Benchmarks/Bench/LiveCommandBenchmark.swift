import CXCB
import Foundation
import Glibc
import Posix
import Synchronization
import TestSupport
import Time

/// From a command in the page to what the person who shares sees.
func liveCommandSection(_ options: RunOptions) -> Section {
    var samples = Samples()
    samples.record { try rings(count: 10 * options.rounds) }
    var table = Table(["from the command in the page to", "p50 ms", "p95"])
    table.rows.append([
        "a ring on the screen", samples.median(0)?.text(1) ?? samples.failureText, samples.median(1)?.text(1) ?? "",
    ])
    return Section(
        title: "A viewer points at something",
        table: table,
        goals: [
            liveGoal(
                "command to seen at the sharer, p95",
                samples.median(1),
                atMost: 50,
                "ms",
                digits: 1,
                only: "command"
            )
        ],
        notes: ["The X server tells of the ring's window."]
    )
}

private func rings(count: Int) throws -> [Double] {
    let web = try WebStage("still", options: ["--viewers-control"])
    let watch = try WindowWatch(on: web.stage.display)
    let browser = try web.viewer()
    sleep(seconds: 1)
    var times: [Double] = []
    for _ in 0...count {
        let known = watch.count
        let start = try browser.evaluate(command("{\"highlight\":[400,300,200,100,100]}"), as: Double.self)
        try wait(until: "the ring is there") { watch.count > known }
        times.append(Double(watch.lastAt.nanoseconds) / 1e6 + wallClockAtMonotonicZero() - start)
        sleep(seconds: 0.4)
    }
    // The first one connects to the X server.
    times.removeFirst()
    return [times.median!, times.percentile(95)!]
}

/// Notes when windows appear on a screen.
private final class WindowWatch: Sendable {
    private let seen = Mutex<(count: Int, lastAt: Instant)>((0, .start))

    /// Windows that appeared at once count as one.
    var count: Int { seen.withLock(\.count) }
    var lastAt: Instant { seen.withLock(\.lastAt) }

    init(on display: String) throws {
        nonisolated(unsafe) let connection = xcb_connect(display, nil)!
        guard xcb_connection_has_error(connection) == 0 else { throw BenchError("no X server on \(display)") }
        let root = xcb_setup_roots_iterator(xcb_get_setup(connection)).data.pointee.root
        let mask = [XCB_EVENT_MASK_SUBSTRUCTURE_NOTIFY.rawValue]
        xcb_change_window_attributes(connection, root, XCB_CW_EVENT_MASK.rawValue, mask)
        xcb_flush(connection)
        _ = try Thread { [weak self] in
            while let event = xcb_wait_for_event(connection) {
                let now: Instant = MonotonicClock.now()
                if Int32(event.pointee.response_type & 0x7F) == XCB_MAP_NOTIFY { self?.note(now) }
                free(event)
            }
        }
    }

    private func note(_ now: Instant) {
        seen.withLock { seen in
            if now - seen.lastAt > .milliseconds(50) { seen = (seen.count + 1, now) }
        }
    }
}
