package import Pixels
package import Posix

/// A failure between this program and an X server.
package enum X11Error: Error, Equatable, Sendable {
    case noDisplayNamed
    case cannotConnect(display: String)
    case noSuchScreen(display: String)
    case connectionLost(display: String)
    case notResponding(display: String)
    case extensionMissing(name: String, version: String)
    case unsupportedScreen(depth: Int)
    case noMonitor(String, available: [String])
    case noWindow(UInt32)
    case windowHidden(UInt32)
    /// The window is too large for a server to keep its pixels apart from the screen's.
    case windowTooLarge(UInt32, PixelSize)
    case badRegion(String)
    case regionOutside(PixelRect, screen: PixelRect)
    case regionPartlyOutside(PixelRect, visible: PixelRect)
    case requestFailed(String, XErrorCode)
    /// Another program has the pointer or the keyboard.
    case pointerHeld(display: String)
    case system(SystemError)
}

extension X11Error: CustomStringConvertible {
    /// One sentence for a person.
    package var description: String {
        switch self {
        case .noDisplayNamed:
            "no display is named: set DISPLAY"
        case .cannotConnect(let display):
            "cannot connect to display \"\(display)\": is an X server running there, and does it let this user in?"
        case .noSuchScreen(let display):
            "display \"\(display)\" has no screen of that number: leave the number after the dot out"
        case .connectionLost(let display):
            "the connection to display \"\(display)\" was lost: see whether its X server still runs"
        case .notResponding(let display):
            "display \"\(display)\" does not answer: see whether its X server is stopped or unreachable"
        case .extensionMissing(let name, let version):
            "the X server lacks \(name) \(version): use another one, or start it with that extension"
        case .unsupportedScreen(let depth):
            "a screen of depth \(depth) without direct colours cannot be shared: start the X server with depth 24"
        case .noMonitor(let name, let available) where available.isEmpty:
            "no monitor is named \"\(name)\", and none is connected: share the whole screen"
        case .noMonitor(let name, let available):
            "no monitor is named \"\(name)\": choose from \(available.joined(separator: ", "))"
        case .noWindow(let id):
            "there is no window 0x\(String(id, radix: 16)): \"oriel list\" shows those that can be shared"
        case .windowHidden(let id):
            "the window 0x\(String(id, radix: 16)) is not shown: open it and try again"
        case .windowTooLarge(let id, let size):
            "the window 0x\(String(id, radix: 16)) is too large to be shared (\(size.width)x\(size.height)): make it smaller"
        case .badRegion(let text):
            "\"\(text)\" is not a region: write WIDTHxHEIGHT+X+Y, such as 1280x720+100+50"
        case .regionOutside(let region, let screen):
            "the region \(region) lies outside the screen: choose a part of \(screen.width)x\(screen.height)"
        case .regionPartlyOutside(let region, let visible):
            "the region \(region) reaches beyond the screen: choose \(visible), which is the visible part"
        case .pointerHeld(let display):
            "another program has the pointer of display \"\(display)\": close its menu and try again"
        case .requestFailed(let request, let code):
            "the X server refused \(request) (\(code)): see whether it lets this user do so"
        case .system(let error):
            "\(error)"
        }
    }

    /// Whether the source is only missing at present. It may come back while the connection stays good.
    package var isSourceAbsent: Bool {
        switch self {
        case .noMonitor, .regionOutside, .regionPartlyOutside, .noWindow, .windowHidden, .windowTooLarge: true
        default: false
        }
    }
}

package struct XErrorCode: Equatable, Sendable, CustomStringConvertible {
    package let value: UInt8

    package static let badWindow = XErrorCode(value: 3)
    package static let badMatch = XErrorCode(value: 8)
    package static let badDrawable = XErrorCode(value: 9)

    private static let names = [
        "BadRequest", "BadValue", "BadWindow", "BadPixmap", "BadAtom", "BadCursor", "BadFont", "BadMatch",
        "BadDrawable", "BadAccess", "BadAlloc", "BadColor", "BadGC", "BadIDChoice", "BadName", "BadLength",
        "BadImplementation",
    ]

    /// The protocol's name, such as `BadMatch`; a number for the errors of extensions.
    package var description: String {
        (1...Self.names.count).contains(Int(value)) ? Self.names[Int(value) - 1] : "error \(value)"
    }
}
