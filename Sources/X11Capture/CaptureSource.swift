import CXCB
package import Pixels

/// A part of the display to share.
package enum CaptureSource: Equatable, Hashable, Sendable {
    /// The whole screen of the display, at its present size.
    case screen
    /// A monitor, by its name in `listMonitors()`, wherever it stands.
    case monitor(String)
    /// A fixed rectangle, which must lie within the screen.
    case region(PixelRect)
    /// The inside of one window, by its identifier in `listWindows()`, even if it is covered or moves. A mark tells the
    /// window from a later one with the same identifier.
    case window(UInt32, mark: UInt64? = nil)
}

extension CaptureSource {
    /// Parses `words` and `description`; nil for any other text.
    package init?(_ text: String) {
        let words = text.split(separator: " ", maxSplits: 1).map(String.init)
        switch (words.first, words.dropFirst().first) {
        case ("screen", nil): self = .screen
        case ("monitor", let name?): self = .monitor(name)
        case ("region", let region?):
            guard let region = try? PixelRect(geometry: region) else { return nil }
            self = .region(region)
        case ("window", let rest?):
            let numbers = rest.split(separator: " ", omittingEmptySubsequences: false)
            guard numbers.count <= 2, let first = numbers.first, first.hasPrefix("0x"),
                let id = UInt32(first.dropFirst(2), radix: 16)
            else { return nil }
            let mark = numbers.count == 2 ? UInt64(numbers[1], radix: 16) : nil
            guard numbers.count == 1 || mark != nil else { return nil }
            self = .window(id, mark: mark)
        default: return nil
        }
    }

    /// The text that makes the same source in another process.
    package var words: String {
        if case .window(_, let mark?) = self { return "\(self) \(String(mark, radix: 16))" }
        return description
    }
}

extension CaptureSource: CustomStringConvertible {
    /// The source's name in sentences.
    package var description: String {
        switch self {
        case .screen: "screen"
        case .monitor(let name): "monitor \(name)"
        case .region(let region): "region \(region)"
        case .window(let id, _): "window 0x\(String(id, radix: 16))"
        }
    }
}

extension XConnection {
    /// The whole screen, in pixels, at present.
    package func screenRegion() throws(X11Error) -> PixelRect {
        let geometry = try geometry(of: root)
        return PixelRect(x: 0, y: 0, width: geometry.width, height: geometry.height)
    }

    /// The present place of a source on the screen; never empty.
    ///
    /// A window may reach beyond the screen.
    ///
    /// Throws `.noMonitor`, `.noWindow`, `.windowHidden`, `.regionOutside` or `.regionPartlyOutside` if it is not
    /// there.
    package func region(of source: CaptureSource) throws(X11Error) -> PixelRect {
        let screen = try screenRegion()
        switch source {
        case .screen:
            return screen
        case .window(let window, _):
            return try regionOfShownWindow(window)
        case .region(let region):
            guard let visible = region.intersection(screen) else { throw .regionOutside(region, screen: screen) }
            if visible != region { throw .regionPartlyOutside(region, visible: visible) }
            return region
        case .monitor(let name):
            let monitors = try listMonitors()
            let visible = monitors.first { $0.name == name }?.region.intersection(screen)
            guard let visible else { throw .noMonitor(name, available: monitors.map(\.name)) }
            return visible
        }
    }
}
