import CXCB
package import Pixels

/// What to share.
package enum CaptureSource: Equatable, Hashable, Sendable {
    /// The whole screen of the display, as it is at the moment.
    case screen
    /// A monitor by the name `listMonitors()` gives it, wherever it stands.
    case monitor(String)
    /// A fixed rectangle, which must lie within the screen.
    case region(PixelRect)
    /// The inside of one window, by the identifier that `listWindows()` gives it, whatever covers it and wherever it moves.
    /// With its mark only that window is meant, and none that gets its identifier later.
    case window(UInt32, mark: UInt64? = nil)
}

extension CaptureSource {
    /// Parses what `words` and `description` return; nil for any other text.
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

    /// The text from which another process makes the same source.
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
    /// The whole screen, in pixels, as it is now.
    package func screenRegion() throws(X11Error) -> PixelRect {
        let geometry = try geometry(of: root)
        return PixelRect(x: 0, y: 0, width: geometry.width, height: geometry.height)
    }

    /// Where a source lies on the screen now; never empty.
    ///
    /// A window may reach beyond the screen.
    ///
    /// Throws `.noMonitor`, `.noWindow`, `.windowHidden`, `.regionOutside` or `.regionPartlyOutside` when it is not there.
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
