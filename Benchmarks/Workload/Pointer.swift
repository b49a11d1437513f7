import CXCB
import CXTest
import Glibc

/// A still desktop over which the pointer goes round and round, as if a hand moved it (XTEST).
func movePointer(on screen: Screen, _ pace: inout Pace) throws(WorkloadError) {
    try screen.show(Desktop(on: screen).picture)
    var step = 0
    repeat {
        let angle = 2 * Double.pi * Double(step) / 120
        let x = Double(screen.width) * (0.5 + 0.3 * cos(angle))
        let y = Double(screen.height) * (0.5 + 0.3 * sin(angle))
        xcb_test_fake_input(
            screen.raw,
            UInt8(XCB_MOTION_NOTIFY),
            0,
            xcb_timestamp_t(XCB_CURRENT_TIME),
            screen.root,
            Int16(x),
            Int16(y),
            0
        )
        try screen.flush()
        step += 1
    } while pace.wait()
}
