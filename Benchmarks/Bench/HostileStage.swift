import Foundation
import TestSupport

/// A process of Oriel that strangers can reach, and a good viewer of it.
protocol AttackedStage: AnyObject {
    var network: Network { get }
    /// The attacked process.
    var target: ChildProcess { get }

    /// The program that attacks for some seconds from `Attacker.address`.
    func attack(_ name: String, seconds: Double) -> [String]

    /// The program of three more viewers from the good viewer's network.
    var newcomers: [String] { get }

    /// The good viewer's frames a second while `body` runs, which takes about `seconds`.
    func framesPerSecond(seconds: Double, _ body: () throws -> Void) throws -> Double
}

/// A broadcast to browsers. Its good viewer counts frames and decodes none, to leave the two cores to the sender.
final class AttackedBroadcast: AttackedStage {
    private static let port = "8080"
    private static let byFeedback = ["feedback", "nack", "fir"]

    private let web: WebStage
    /// Another viewer that stays, so that the encoder has its memory before the attack.
    private let regular: Subprocess

    /// With the default number of viewers.
    init() throws {
        web = try WebStage("motion", options: ["--max-viewers", "50"])
        regular = try Self.viewer(of: web, seconds: 3600)
        sleep(seconds: 2)  // the stream has its full rate by then
    }

    /// A connected viewer.
    private static func viewer(of web: WebStage, seconds: Double) throws -> Subprocess {
        let arguments = [Counterparts.load, "\(web.origin)/whep", WebStage.token, "1", "\(seconds)"]
        let viewer = try Subprocess(web.network.atViewer(arguments))
        try wait(until: "the viewer is connected", timeout: .seconds(30)) {
            guard viewer.status() == nil else { throw BenchError("a good viewer ended: \(viewer.output)") }
            return viewer.errorOutput.contains("all are connected")
        }
        return viewer
    }

    var network: Network { web.network }
    var target: ChildProcess { web.sender }
    /// The broadcast's folder.
    var bridge: String { web.bridge }

    func attack(_ name: String, seconds: Double) -> [String] {
        if Self.byFeedback.contains(name) {
            return [Counterparts.attack, name, "\(web.origin)/whep", WebStage.token, "\(seconds)", Attacker.address]
        }
        return Attacker.script([name, Network.senderAddress, Self.port, WebStage.token], seconds: seconds)
    }

    var newcomers: [String] { Newcomers.script(["web", Network.senderAddress, Self.port, WebStage.token]) }

    func framesPerSecond(seconds: Double, _ body: () throws -> Void) throws -> Double {
        let viewer = try Self.viewer(of: web, seconds: seconds)
        defer { viewer.stop() }
        try body()
        try viewer.wait(timeout: .seconds(60))
        let report = try LoadReport(viewer.output, of: 1)
        return report.frames / report.seconds
    }
}

/// A server of rooms. In one of them a sender shows the screen to a browser; the picture does not pass through the
/// server.
final class AttackedRooms: AttackedStage {
    private static let port = "8090"

    private let scene: CallsStage
    private let sender: ChildProcess
    private let browser: Browser
    let target: ChildProcess

    init() throws {
        scene = try CallsStage("motion")
        target = try scene.rooms()
        browser = try scene.browser()
        sender = try scene.attach(CallsStage.room)
        try waitForFrames(browser)
        sleep(seconds: 3)  // the stream has its full rate by then
    }

    deinit {
        sender.stop()
        target.stop()
    }

    var network: Network { scene.network }

    func attack(_ name: String, seconds: Double) -> [String] {
        Attacker.script([name, Network.senderAddress, Self.port], seconds: seconds)
    }

    var newcomers: [String] { Newcomers.script(["rooms", Network.senderAddress, Self.port]) }

    func framesPerSecond(seconds: Double, _ body: () throws -> Void) throws -> Double {
        let before = try count()
        try body()
        let after = try count()
        return (after.frames - before.frames) * 1000 / (after.at - before.at)
    }

    private struct Count: Decodable {
        let frames: Double
        /// By the browser's clock, in milliseconds.
        let at: Double
    }

    private func count() throws -> Count {
        try browser.evaluate(
            """
            (async () => ({
                frames: [...(await oriel.pc?.getStats() ?? new Map()).values()].find(
                    ({type, kind}) => type === 'inbound-rtp' && kind === 'video')?.framesDecoded ?? 0,
                at: performance.now(),
            }))()
            """
        )
    }
}
