import FrameBridge

extension Orientation {
    /// - Parameter rotation: the bits of RandR's ROTATION (RandR 1.2 §6): 1, 2, 4 and 8 for a turn by 0° to 270°, 16 and 32
    ///   for mirroring along x and y before the turn. Unknown bits count as upright.
    init(rotation: UInt16) {
        let turns =
            switch rotation & 15 {
            case 2: 1
            case 4: 2
            case 8: 3
            default: 0
            }
        let (mirrorsX, mirrorsY) = (rotation & 16 != 0, rotation & 32 != 0)
        // Exchanging up and down equals exchanging left and right, and half a turn.
        self.init(quarterTurns: turns + (mirrorsY ? 2 : 0), isMirrored: mirrorsX != mirrorsY)
    }
}
