import Media

/// How much of the picture must change within a second to be motion: 1 to 10, as Matter's motion sensitivity.
package struct MotionSensitivity: Equatable, Sendable {
    package static let low = MotionSensitivity(1)!
    package static let medium = MotionSensitivity(5)!
    package static let high = MotionSensitivity(10)!

    package let value: Int

    package init?(_ value: Int) {
        guard ClipSettings.sensitivities ~= value else { return nil }
        self.value = value
    }

    /// From 20 % at 1 over 1 % at 5 on; at 10 everything counts.
    var share: Double {
        if value == ClipSettings.sensitivities.upperBound { return 0 }
        // Each step takes the fourth root of a twentieth.
        var share = 0.2
        for _ in 1..<value { share *= 0.472_870_8 }
        return share
    }
}

/// A part of the picture in which motion counts, in pixels.
package struct MotionZone: Equatable, Sendable {
    private static let tileSide = 64

    private let columns: Range<Int>
    private let rows: Range<Int>

    /// - Parameters:
    ///   - x: of the left edge; at least 0, as all of them.
    ///   - width: at least 1, as the height.
    package init(x: Int, y: Int, width: Int, height: Int) {
        columns = Self.tiles(x, width)
        rows = Self.tiles(y, height)
    }

    private static func tiles(_ start: Int, _ count: Int) -> Range<Int> {
        start / tileSide..<(start + count + tileSide - 1) / tileSide
    }

    /// Whether a tile is in it, at least in part.
    func contains(column: Int, row: Int) -> Bool { columns ~= column && rows ~= row }
}
