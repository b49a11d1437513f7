/// How a monitor shows its part of the screen: turned, and perhaps mirrored, in one of eight ways. Pictures are upright, as
/// people see them, however the monitor is mounted; this is for programs that want to know how that is.
public struct Orientation: Sendable, Hashable {
    /// The picture of a monitor that is not turned.
    public static let upright = Orientation(quarterTurns: 0, isMirrored: false)

    /// Counter-clockwise, 0...3, after mirroring; RandR's `left` is one.
    public let quarterTurns: Int
    /// Whether left and right are exchanged. Up and down exchanged is this and two quarter turns.
    public let isMirrored: Bool

    /// - Parameters:
    ///   - quarterTurns: counter-clockwise, any number of them.
    ///   - isMirrored: whether left and right are exchanged before.
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
