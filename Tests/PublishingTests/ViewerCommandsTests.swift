import Access
import Control
import Media
import Pixels
import Posix
import Synchronization
import TestSupport
import Testing
import Time

@testable import Calls
@testable import Publishing
@testable import Sender

/// Commands of viewers, as a sender does them.
@Suite struct ViewerCommandsTests {
    private struct Unexpected: Error {}

    private func commands(_ scene: CallScene, _ tell: @escaping @Sendable (CallEvent) -> Void = { _ in })
        -> SenderCommands
    {
        SenderCommands(
            scene.calls,
            access: AccessControl(),
            screen: { PixelSize(width: 640, height: 360) },
            tell: tell
        )
    }

    /// Of two that contradict each other at once, the last one that is told is done.
    @Test func contradictionsEndInOneOfThem() throws {
        let scene = try CallScene()
        defer { scene.calls.close() }
        let told = Mutex<[String]>([])
        let commands = commands(scene) { event in told.withLock { $0.append(event.state ?? "") } }
        let parts = [Viewport([0, 0, 320, 180])!, Viewport([320, 180, 640, 360])!]
        func rival(_ index: Int) throws -> Posix.Thread {
            try Posix.Thread {
                for _ in 0..<20 {
                    commands.perform(.viewport(parts[index]), of: nil) { _ in }
                    commands.perform(.legibility(index == 0 ? .on : .auto), of: nil) { _ in }
                }
            }
        }
        for _ in 0..<50 {
            let one = try rival(0)
            let other = try rival(1)
            one.join()
            other.join()
            let states = told.withLock { exchange(&$0, with: []) }
            #expect(states.count == 80)
            #expect(states.last { $0.hasPrefix("viewport") } == "viewport \(commands.viewport!)")
            let legibility = scene.sinks.view.legibility
            #expect(states.last { $0.hasPrefix("legibility") } == "legibility \(legibility)")
            let json = commands.status.json
            #expect(json.contains("\"viewport\":\(commands.viewport!.edges)".filter { $0 != " " }), "\(json)")
            #expect(json.contains("\"legibility\":\"\(legibility)\""), "\(json)")
        }
    }

    /// A sender that viewers do not reach shows parts, and has no desktop.
    @Test(
        arguments: [
            .source("next"), .highlight(Highlight([0, 0, 10, 10])!), .statusFrame(.low), .message(MessageText("a")!),
            .service(ServiceMessage("a", [:])!),
        ] as [ViewerCommand]
    ) func withoutAPageThereIsNoDesktop(command: ViewerCommand) throws {
        let scene = try CallScene()
        defer { scene.calls.close() }
        let commands = commands(scene) { event in Issue.record("\(event)") }
        guard case .refused(let reason) = commands.reply(to: .command(command)) else { throw Unexpected() }
        #expect(reason == "this sender has no page")
        guard case .status(let report) = commands.reply(to: .status) else { throw Unexpected() }
        #expect(report.capabilities == nil)
    }

    @Test(
        arguments: [
            .viewport(Viewport([0, 0, 642, 360])), .highlight(Highlight([630, 0, 11, 1])!),
            .highlight(Highlight([0, 360, 1, 1])!),
        ] as [ViewerCommand]
    ) func whatIsOutsideIsRefused(command: ViewerCommand) throws {
        let scene = try CallScene()
        defer { scene.calls.close() }
        let commands = commands(scene) { event in Issue.record("\(event)") }
        guard case .refused(let reason) = commands.reply(to: .command(command)) else { throw Unexpected() }
        #expect(reason.hasPrefix("the source is 640x360"), "\(reason)")
        #expect(commands.viewport == nil)
    }
}
