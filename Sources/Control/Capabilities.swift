import Media

/// What a share can do, and how: programs ask for it before they command. What is absent is not supported. Ranges are two whole
/// numbers, the least and the most.
package struct Capabilities: Codable, Equatable, Sendable {
    /// Rights of the one who asks, such as `watch`.
    package var may: [String] = []
    package var codecs: [String] = []
    package var commands = Commands()
    /// Of the views of viewers.
    package var lease = Lease()
    /// How viewers come to speak: `ask` or `on`.
    package var talk: String?

    package init() {}

    /// The commands, by their names.
    package struct Commands: Codable, Equatable, Sendable {
        package var viewport = Part()
        package var legibility = Choice(Legibility.allCases)
        package var source: Sources?
        package var highlight: Ring?
        package var message = Line()
        package var service: Service?
        package var statusFrame: Choice?
        package var chime: Chimes?
    }

    package struct Chimes: Codable, Equatable, Sendable {
        /// Of the sounds, the first one that of number 1.
        package let names: [String]
        /// The number of the one for knocks; absent for none.
        package let selected: Int?

        package init(_ names: [String], selected: Int?) { (self.names, self.selected) = (names, selected) }
    }

    package struct Part: Codable, Equatable, Sendable {
        /// The width and height of the source, if there is a picture.
        package var source: [Int]?
        /// The fewest columns and rows.
        package var least = [Viewport.least.width, Viewport.least.height]
    }

    package struct Choice: Codable, Equatable, Sendable {
        package let values: [String]
        /// The present one.
        package var selected: String?

        package init(
            _ values: some Collection<some RawRepresentable<String>>,
            selected: (some RawRepresentable<String>)? = Legibility?.none
        ) {
            (self.values, self.selected) = (values.map(\.rawValue), selected?.rawValue)
        }
    }

    package struct Sources: Codable, Equatable, Sendable {
        package let names: [String]
        /// The present one; absent while another source is shown.
        package let selected: String?

        package init(_ names: [String], selected: String? = nil) { (self.names, self.selected) = (names, selected) }
    }

    package struct Ring: Codable, Equatable, Sendable {
        package var milliseconds = [Highlight.times.lowerBound, Highlight.times.upperBound]
        /// Milliseconds where none are said.
        package var usual = Highlight.usualTime

        package init() {}
    }

    package struct Line: Codable, Equatable, Sendable {
        package var characters = [1, MessageText.mostCharacters]
    }

    package struct Service: Codable, Equatable, Sendable {
        package var parameters = [0, ServiceMessage.mostParameters]

        package init() {}
    }

    package struct Lease: Codable, Equatable, Sendable {
        /// That may be asked for.
        package var seconds = [1, 65_535]
        /// Whether a view has an end where none was asked for.
        package var isUsual = false
    }
}
