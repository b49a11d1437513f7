import FrameBridge
import Testing

@testable import Capture

@Suite struct TurnedScreenTests {
    /// As it stands in RandR's protocol: the four turns, and mirrored before they are turned.
    @Test(arguments: [
        (0x01, 0, false), (0x02, 1, false), (0x04, 2, false), (0x08, 3, false),
        (0x11, 0, true), (0x12, 1, true), (0x21, 2, true), (0x22, 3, true), (0x28, 1, true),
        (0x31, 2, false), (0x32, 3, false), (0x34, 0, false), (0x00, 0, false),
    ])
    func rotationsAreUnderstood(rotation: Int, quarterTurns: Int, isMirrored: Bool) {
        let orientation = Orientation(rotation: UInt16(rotation))
        #expect(orientation.quarterTurns == quarterTurns && orientation.isMirrored == isMirrored)
    }
}
