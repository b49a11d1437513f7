/// The clips of a recorder, whole. Programs have it as JSON, with these names in snake_case.
package struct ClipSettings: Codable, Equatable, Sendable {
    /// A part of the picture, in pixels.
    package struct Zone: Codable, Equatable, Sendable {
        package var x: Int, y: Int, width: Int, height: Int

        package init(x: Int, y: Int, width: Int, height: Int) {
            (self.x, self.y, self.width, self.height) = (x, y, width, height)
        }
    }

    package static let mostZones = 32
    package static let sensitivities = 1...10
    /// In seconds.
    package static let preRolls = 0...60
    package static let initials = 1...65_535
    package static let augmentations = 1...65_535
    package static let maxima = 1...1_000_000
    package static let blindTimes = 0...65_535
    /// Of a zone's left and upper edge, and of its size.
    package static let places = 0...16_384

    /// How little of the picture must change: 1 to 10; nil for clips by command alone.
    package var sensitivity: Int?
    /// Where changes count: up to 32; the whole picture if empty.
    package var zones: [Zone] = []
    /// Of a clip in which nothing moves any more.
    package var initialS = 10
    /// By which motion makes it longer.
    package var augmentS = 5
    package var longestS = 30
    /// After a clip, in which motion begins none.
    package var blindS = 30
    /// Of a clip before what it was begun for.
    package var preRollS = 5

    package init() {}

    /// The first field that is out of its range; nil if none is.
    package var problem: FieldProblem? {
        let numbers: [(name: String, value: Int?, range: ClosedRange<Int>)] = [
            ("sensitivity", sensitivity, Self.sensitivities), ("initial_s", initialS, Self.initials),
            ("augment_s", augmentS, Self.augmentations), ("longest_s", longestS, Self.maxima),
            ("blind_s", blindS, Self.blindTimes), ("pre_roll_s", preRollS, Self.preRolls),
        ]
        for (name, value, range) in numbers {
            if let value, !(range ~= value) { return FieldProblem(name, "is \(value)", range) }
        }
        if zones.count > Self.mostZones { return FieldProblem("zones", "are \(zones.count)", 0...Self.mostZones) }
        let sizes = 1...Self.places.upperBound
        for (index, zone) in zones.enumerated() {
            let numbers = [
                ("x", zone.x, Self.places), ("y", zone.y, Self.places), ("width", zone.width, sizes),
                ("height", zone.height, sizes),
            ]
            for (name, value, range) in numbers where !(range ~= value) {
                return FieldProblem("zones[\(index)].\(name)", "is \(value)", range)
            }
        }
        if zones.indices.contains(where: { zones[..<$0].contains(zones[$0]) }) {
            return FieldProblem("zones", sentence: "zones has one of them twice")
        }
        if sensitivity == nil, !zones.isEmpty {
            return FieldProblem("zones", sentence: "zones are for motion: give a sensitivity, or no zones")
        }
        return nil
    }
}

/// A field of a settings document that cannot be as it is.
package struct FieldProblem: Error, Equatable, CustomStringConvertible {
    /// Its place in the document, such as `clips.zones[1].width`.
    package var field: String
    package var description: String

    package init(_ field: String, sentence: String) { (self.field, description) = (field, sentence) }

    init(_ field: String, _ state: String, _ range: ClosedRange<Int>) {
        self.init(field, sentence: "\(field) \(state): give \(range.lowerBound) to \(range.upperBound)")
    }
}
