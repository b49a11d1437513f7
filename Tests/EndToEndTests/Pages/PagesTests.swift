import TestSupport
import TestTraits
import Testing

/// All commands on the pages for users work as they stand there, and print what stands there.
@Suite(.serialized, .waits(seconds: 170))
struct PagesTests {
    private static let pages =
        ["README.md"]
        + [
            "access", "bridge", "browsers", "calls", "commands", "control", "events", "nearby", "networks",
            "recording", "security", "sound",
        ]
        .map {
            "docs/\($0).md"
        }

    @Test(arguments: pages)
    func commandsWork(page: String) throws {
        for section in try PageScript(String(decoding: contents(of: page), as: UTF8.self)).sections {
            try play(section, of: page)
        }
    }

    enum Fault: String, CaseIterable {
        case option = "```sh\noriel share --no-such-option\n```"
        case output = "```console\n$ oriel known\nnobody at all\n```"
        case end = "```sh\noriel attach --no-wait web\n```"
        case silence = "```log\nnobody says this\n```"
        case scene = "<!-- test: nobody knows this -->"
    }

    @Test(arguments: Fault.allCases)
    func aWrongPageIsNoticed(fault: Fault) throws {
        let sections = try PageScript("## Wrong\n\(fault.rawValue)\n").sections
        #expect(sections.count == 1)
        // Long enough for a command that works.
        let patience = fault == .end || fault == .option ? TestSupport.patience : .seconds(2)
        #expect(throws: (any Error).self) { try play(sections[0], of: "a page", patience: patience) }
    }

    private func play(
        _ section: PageScript.Section,
        of page: String,
        patience: Duration = TestSupport.patience
    ) throws {
        let stage = try PageStage(patience: patience)
        for step in section.steps {
            do { try stage.play(step) } catch {
                throw Unexpected("\(page), \(section.title), \(step): \(error)\n\(stage.log)")
            }
        }
        try stage.end()
    }
}
