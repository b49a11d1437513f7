enum Scene: String {
    case still, typing, scrolling, terminal, motion, window, pointer, area, counter, news, pattern, pages, smooth, film,
        beside, demo, chart, pictures

    /// Changes a second by default.
    var defaultRate: Double {
        switch self {
        case .still, .chart, .pictures: 1
        case .pages, .smooth: 0.25
        case .film, .beside: 20
        case .typing: 16
        case .counter, .news: 7
        case .pointer: 60
        case .scrolling, .terminal, .motion, .window, .area, .pattern, .demo: 30
        }
    }
}

struct Options {
    let scene: Scene
    private(set) var display: String?
    private(set) var rate: Double?
    private(set) var seconds: Double?
    /// How much of the screen changes, above 0 and up to 1.
    private(set) var share = 0.01
    /// Files to show.
    private(set) var pictures: [String] = []
    /// A file of a scalable font, and the height of its em square in pixels.
    private(set) var font = SmoothFont.usual
    private(set) var fontSize = 15

    init(_ arguments: some Sequence<String>) throws(WorkloadError) {
        var rest = Array(arguments)
        guard !rest.isEmpty, let scene = Scene(rawValue: rest.removeFirst()) else {
            throw .usage("name a scene")
        }
        self.scene = scene
        while !rest.isEmpty {
            let name = rest.removeFirst()
            guard !rest.isEmpty else { throw .usage("\(name) wants a value, or is unknown") }
            let value = rest.removeFirst()
            switch name {
            case "--display": display = value
            case "--fps", "--rate": rate = try Self.positive(value, name)
            case "--share": share = min(1, try Self.positive(value, name))
            case "--picture": pictures.append(value)
            case "--font": font = value
            case "--font-size": fontSize = Int(min(try Self.positive(value, name), 200))
            case "--seconds": seconds = try Self.positive(value, name)
            default: throw .usage("unknown option \(name)")
            }
        }
        if scene == .pictures, pictures.isEmpty { throw .usage("name a file by --picture") }
    }

    private static func positive(_ text: String, _ name: String) throws(WorkloadError) -> Double {
        guard let number = Double(text), number > 0, number < 1e6 else {
            throw .usage("\(name) wants a number above 0, not \"\(text)\"")
        }
        return number
    }
}
