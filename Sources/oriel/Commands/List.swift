import ArgumentParser
import Helpers
import JSON
import Pixels
import X11Capture

struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "List the monitors and windows of a display.")

    @Option(help: "X display; the one that DISPLAY names if not given.")
    var display: String?

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        let connection = try XConnection(display: display)
        let listing = Listing(
            monitors: try connection.listMonitors().map(Listing.Monitor.init),
            windows: try connection.listWindows().map(Listing.Window.init)
        )
        if json { Console.emit(try listing.printableJSONLine() + "\n") } else { Console.print(listing.lines) }
    }
}

struct Listing: Encodable {
    struct Monitor: Encodable {
        let name: String
        let isPrimary: Bool
        let x: Int, y: Int, width: Int, height: Int
    }

    struct Window: Encodable {
        let id: String
        let title: String
        let x: Int, y: Int, width: Int, height: Int
    }

    let monitors: [Monitor]
    let windows: [Window]

    var lines: [String] {
        let monitorLines = monitors.map {
            "monitor  \($0.name)  \($0.width)x\($0.height)+\($0.x)+\($0.y)\($0.isPrimary ? "  primary" : "")"
        }
        let windowLines = windows.map { "window   \($0.id)  \($0.width)x\($0.height)+\($0.x)+\($0.y)  \($0.title)" }
        return monitorLines + windowLines
    }
}

extension Listing.Monitor {
    fileprivate init(_ monitor: MonitorInfo) {
        name = monitor.name
        isPrimary = monitor.isPrimary
        (x, y, width, height) = monitor.region.components
    }
}

extension Listing.Window {
    fileprivate init(_ window: WindowInfo) {
        id = "0x" + String(window.id, radix: 16)
        title = window.title
        (x, y, width, height) = window.region.components
    }
}

extension PixelRect {
    fileprivate var components: (Int, Int, Int, Int) { (x, y, width, height) }
}
