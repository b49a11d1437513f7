/// A real browser and its page.
package final class Browser {
    package enum Kind: String, Sendable, CaseIterable {
        case chromium, firefox

        /// Chromium takes any certificate, and does not hide its addresses: in a namespace this young it sometimes waits
        /// in vain for the names that it would give them (mDNS), and gathers nothing at all.
        package var arguments: [String] {
            switch self {
            case .chromium:
                ["--arg=--disable-features=WebRtcHideLocalIpsWithMdns", "--arg=--ignore-certificate-errors"]
            case .firefox: []
            }
        }
    }

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private let process: BrowserProcess
    /// Where the process rests afterwards; nil if it ends with its owner.
    private let home: Network?

    /// Starts a browser without a window at the viewers' end of a network, and waits until it takes commands. It ends with its
    /// owner; one that needs neither sound nor arguments of its own comes from `Network.browser`.
    ///
    /// - Parameter sound: the server by whose default devices it is heard, and hears, which no page has to ask for; nil for none.
    package convenience init(
        _ kind: Kind,
        in network: Network,
        sound: PulseServer? = nil,
        _ arguments: String...
    ) throws {
        try self.init(kind, in: network, sound: sound, arguments)
    }

    package init(_ kind: Kind, in network: Network, sound: PulseServer?, _ arguments: [String]) throws {
        let own = (sound == nil ? [] : ["--sound"]) + arguments
        process = try BrowserProcess(kind, at: network.atViewer, own, environment: sound?.environment ?? [:])
        home = nil
    }

    /// Starts Chromium with a window on a screen, at the sender's end of a network.
    package init(on display: String, in network: Network, _ arguments: [String]) throws {
        let own = ["--window"] + arguments
        process = try BrowserProcess(.chromium, at: network.atSender, own, environment: ["DISPLAY": display])
        home = nil
    }

    /// One that rests at a network when its owner goes.
    init(_ process: BrowserProcess, at home: Network) {
        self.process = process
        self.home = home
    }

    deinit { home?.takeBack(process) }

    /// As if somebody had clicked on the page, for what it may do only then.
    package func activate() throws { let _: Bool? = try process.ask(["do": "activate"]) }

    package func open(_ url: String) throws {
        let _: Bool? = try process.ask(["do": "open", "url": url])
    }

    /// The value of an expression in the page; `await` works.
    package func evaluate<Value: Decodable>(_ script: String, as type: Value.Type = Value.self) throws -> Value {
        guard let value: Value = try process.ask(["do": "evaluate", "script": script]) else {
            throw Failure(description: "\(script) is null")
        }
        return value
    }

    package func evaluateOptional<Value: Decodable>(_ script: String, as type: Value.Type = Value.self) throws -> Value?
    {
        try process.ask(["do": "evaluate", "script": script])
    }

    package func screenshot(_ path: String) throws {
        let _: Bool? = try process.ask(["do": "screenshot", "path": path])
    }

    /// Sizes the viewport, in CSS pixels.
    package func size(_ width: Int, _ height: Int) throws {
        let _: Bool? = try process.ask(["do": "size", "width": "\(width)", "height": "\(height)"])
        try TestSupport.wait(until: "the page is that large") { try evaluate("innerWidth", as: Int.self) == width }
    }
}
