/// How a monitor shows its part of the screen: in one of eight orientations, turned and perhaps mirrored. Pictures are
/// upright, as people see them, whatever the orientation. This is for programs that need it.
public struct Orientation: Sendable, Hashable {
    /// A monitor that is not turned.
    public static let upright = Orientation(quarterTurns: 0, isMirrored: false)

    /// Quarter turns counter-clockwise, 0...3, after mirroring. RandR's `left` is one.
    public let quarterTurns: Int
    /// Whether left and right are exchanged. An exchange of up and down is this and two quarter turns.
    public let isMirrored: Bool

    /// - Parameters:
    ///   - quarterTurns: counter-clockwise, any number of them.
    ///   - isMirrored: whether left and right are exchanged first.
    public init(quarterTurns: Int, isMirrored: Bool) {
        self.quarterTurns = quarterTurns & 3
        self.isMirrored = isMirrored
    }

    /// The number in the file: the turns, and 4 for mirrored. Nil for a value above 7.
    init?(code: UInt8) {
        guard code < 8 else { return nil }
        self.init(quarterTurns: Int(code), isMirrored: code & 4 != 0)
    }

    var code: UInt8 { UInt8(quarterTurns) | (isMirrored ? 4 : 0) }
}
