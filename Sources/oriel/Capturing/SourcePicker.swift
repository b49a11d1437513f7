import Helpers
import Pixels
import Posix
import Rendering
import Time
import X11Capture

/// Lets somebody choose on the screen: click a window, drag a region, or press a key. What would be chosen is outlined and named.
struct SourcePicker {
    private static let help = "Drag a part of the screen, or press Esc."
    private static let lookInterval = Duration.milliseconds(100)

    private let connection: XConnection
    private let marks: ScreenMarks
    private let monitors: [MonitorInfo]
    private let screen: PixelRect
    private var place = (x: 0, y: 0)
    /// The window that is outlined; nil for the bare screen.
    private var hovered: WindowInfo?

    /// - Parameter display: nil for the one that DISPLAY names.
    init(on display: String?) throws {
        connection = try XConnection(display: display)
        marks = try ScreenMarks(display: display)
        monitors = (try? connection.listMonitors()) ?? []
        screen = try connection.screenRegion()
    }

    /// - Throws: a sentence if nothing is chosen.
    mutating func source() throws -> CaptureSource {
        switch try pick(takesRegionsOnly: false) {
        case .region(let region): return .region(region)
        case .window: return try hovered.map { try connection.marked(.window($0.id)) } ?? bareScreen
        case .monitor: return monitor.map { .monitor($0.name) } ?? .screen
        case .screen: return .screen
        }
    }

    mutating func region() throws -> PixelRect {
        guard case .region(let region) = try pick(takesRegionsOnly: true) else { throw Self.cancelled }
        return region
    }

    private static var cancelled: Failure { Failure(.failed, "nothing was chosen") }

    private mutating func pick(takesRegionsOnly: Bool) throws -> PickGesture.Choice {
        let signals = try TerminationSignals()
        let pointer = try GrabbedPointer(on: connection)
        var gesture = PickGesture(on: screen, takesRegionsOnly: takesRegionsOnly)
        var output = PickGesture.Output.hovers
        while !signals.take() {
            switch output {
            case .picked(let choice): return choice
            case .cancelled: throw Self.cancelled
            case .drags(let region):
                try marks.showRing(around: region)
                marks.showLabel("\(region)", awayFrom: place.y)
            case .hovers: try showHovered(takesRegionsOnly: takesRegionsOnly)
            }
            let input = try pointer.next(until: MonotonicClock.now() + Self.lookInterval)
            try marks.handleEvents()
            switch input {
            case .moved(let x, let y)?, .pressed(let x, let y)?, .released(let x, let y)?: place = (x, y)
            case .key?, nil: break
            }
            if let input { output = gesture.take(input) }
        }
        throw Self.cancelled
    }

    private mutating func showHovered(takesRegionsOnly: Bool) throws {
        if takesRegionsOnly { return marks.showLabel(Self.help, awayFrom: place.y) }
        hovered = try connection.windowUnderPointer()
        let outlined = hovered?.region ?? monitor?.region ?? screen
        try marks.showRing(around: outlined)
        let name = hovered.map { $0.title.isEmpty ? "a window" : "\"\($0.title)\"" } ?? "\(bareScreen)"
        let monitorKey = monitor.map { " M: monitor \($0.name)." } ?? ""
        marks.showLabel("Click: \(name). Drag: a region.\(monitorKey) S: the screen. Esc: nothing.", awayFrom: place.y)
    }

    /// Where no window is: the monitor there, if there are several.
    private var bareScreen: CaptureSource {
        monitors.count > 1 ? monitor.map { .monitor($0.name) } ?? .screen : .screen
    }

    /// The one under the pointer.
    private var monitor: MonitorInfo? {
        monitors.first { $0.region.columns.contains(place.x) && $0.region.rows.contains(place.y) }
    }
}
