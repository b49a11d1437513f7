import Glibc

/// Draws the scenes of benchmarks and tests on an X display: a known amount of change, or pictures that can be read.
@main
enum Workload {
    static let usage = """
        usage: workload still|typing|scrolling|terminal|motion|window|pointer|area|counter|news|pattern|pages|smooth|film|beside|\
        demo|chart|pictures [--display :0] [--fps N | --rate N] [--seconds N] [--share 0.01] [--picture FILE.png]… \
        [--font FILE.ttf] [--font-size 15]
        """

    static func main() {
        do throws(WorkloadError) {
            let options = try Options(CommandLine.arguments.dropFirst())
            let screen = try Screen(display: options.display)
            var pace = Pace(rate: options.rate ?? options.scene.defaultRate, seconds: options.seconds)
            switch options.scene {
            case .still: try drawStill(on: screen, &pace)
            case .typing: try drawTyping(on: screen, &pace)
            case .scrolling: try drawScrolling(on: screen, &pace)
            case .terminal:
                try drawTerminal(in: SmoothFont(options.font, size: options.fontSize), on: screen, &pace)
            case .motion: try drawMotion(on: screen, &pace)
            case .window: try drawWindow(on: screen, &pace)
            case .pointer: try movePointer(on: screen, &pace)
            case .area: try drawArea(options.share, on: screen, &pace)
            case .counter: try drawCounter(on: screen, &pace)
            case .news: try drawNews(on: screen, &pace)
            case .pattern: try drawPattern(on: screen, &pace)
            case .pages: try drawPages(on: screen, &pace)
            case .smooth:
                try drawSmoothPages(in: SmoothFont(options.font, size: options.fontSize), on: screen, &pace)
            case .film: try drawFilm(on: screen, &pace)
            case .beside:
                try drawFilm(
                    besideTextIn: SmoothFont(options.font, size: options.fontSize),
                    on: screen,
                    &pace
                )
            case .demo: try drawDemo(on: screen, &pace)
            case .chart: try drawChart(on: screen, &pace)
            case .pictures: try showPictures(options.pictures, on: screen, &pace)
            }
        } catch {
            let message = "workload: \(error)\n"
            write(STDERR_FILENO, message, message.utf8.count)
            exit(error.exitCode)
        }
    }
}

enum WorkloadError: Error, CustomStringConvertible {
    case usage(String)
    case cannotConnect(String)
    case connectionLost
    case noFont
    case unsupportedScreen(depth: UInt8)
    case unreadablePicture(String)
    case unreadableFont(String)

    var description: String {
        switch self {
        case .usage(let problem): "\(problem)\n\(Workload.usage)"
        case .cannotConnect(let display): "cannot connect to display \"\(display)\""
        case .connectionLost: "the connection to the display was lost"
        case .noFont: "the X server has none of the fonts 9x15 and fixed"
        case .unsupportedScreen(let depth): "cannot draw on a screen of depth \(depth)"
        case .unreadablePicture(let path): "cannot read \(path) as PNG"
        case .unreadableFont(let path): "cannot read the font \(path)"
        }
    }

    var exitCode: Int32 {
        switch self {
        case .usage: 64
        default: 69
        }
    }
}
