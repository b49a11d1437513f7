import FoundationEssentials
import Glibc
import Posix

/// A real browser, driven by `Tests/Counterparts/browser.py`.
package final class Browser {
    package enum Kind: String, Sendable, CaseIterable { case chromium, firefox }

    private struct Answer<Value: Decodable>: Decodable {
        let value: Value?
        let error: String?
    }

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private let process: Subprocess
    private let pipe: Pipe
    private var linesRead = 0

    /// Starts a browser without a window at the viewers' end of a network, and waits until it takes commands.
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
        pipe = try Pipe()
        process = try Subprocess(
            network.atViewer(Self.command(kind) + (sound == nil ? [] : ["--sound"]) + arguments),
            environment: sound?.environment ?? [:],
            input: pipe.reading.raw
        )
        _ = try nextLine("the browser is ready")
    }

    /// Starts Chromium with a window on a screen, at the sender's end of a network.
    package init(on display: String, in network: Network, _ arguments: [String]) throws {
        pipe = try Pipe()
        process = try Subprocess(
            network.atSender(Self.command(.chromium) + ["--window"] + arguments),
            environment: ["DISPLAY": display],
            input: pipe.reading.raw
        )
        _ = try nextLine("the browser is ready")
    }

    private static func command(_ kind: Kind) -> [String] {
        ["/usr/bin/python3", Counterparts.path("browser.py"), kind.rawValue]
    }

    /// As if somebody had clicked on the page, for what it may do only then.
    package func activate() throws { let _: Bool? = try command(["do": "activate"]) }

    deinit {
        try? pipe.writing.write("{\"do\":\"quit\"}\n")
        _ = try? process.wait()
    }

    package func open(_ url: String) throws {
        let _: Bool? = try command(["do": "open", "url": url])
    }

    /// The value of an expression in the page; `await` works.
    package func evaluate<Value: Decodable>(_ script: String, as type: Value.Type = Value.self) throws -> Value {
        guard let value: Value = try command(["do": "evaluate", "script": script]) else {
            throw Failure(description: "\(script) is null")
        }
        return value
    }

    package func evaluateOptional<Value: Decodable>(_ script: String, as type: Value.Type = Value.self) throws -> Value?
    {
        try command(["do": "evaluate", "script": script])
    }

    package func screenshot(_ path: String) throws {
        let _: Bool? = try command(["do": "screenshot", "path": path])
    }

    /// Sizes the viewport, in CSS pixels.
    package func size(_ width: Int, _ height: Int) throws {
        let _: Bool? = try command(["do": "size", "width": "\(width)", "height": "\(height)"])
        try TestSupport.wait(until: "the page is that large") { try evaluate("innerWidth", as: Int.self) == width }
    }

    private func command<Value: Decodable>(_ fields: [String: String]) throws -> Value? {
        let line = String(decoding: try JSONEncoder().encode(fields), as: UTF8.self)
        try pipe.writing.write(line + "\n")
        let answer = try nextLine("the browser answers \(line)")
        let decoded = try JSONDecoder().decode(Answer<Value>.self, from: Data(answer.utf8))
        if let error = decoded.error { throw Failure(description: "\(line): \(error)") }
        return decoded.value
    }

    private func nextLine(_ what: String) throws -> String {
        var line = ""
        try wait(until: what) {
            if let exit = process.status() { throw Failure(description: "\(what): \(exit) \(process.errorOutput)") }
            let lines = process.outputLines
            guard lines.count > linesRead else { return false }
            line = String(lines[linesRead])
            return true
        }
        linesRead += 1
        return line
    }
}
