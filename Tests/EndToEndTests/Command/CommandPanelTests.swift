import FoundationEssentials
import Glibc
import TestSupport
import Testing

extension Command {
    /// The panel of the page.
    @Suite struct CommandPanelTests {
        private func status(_ web: WebBroadcast) throws -> String { try web.broadcast.run("status", "--json").output }

        @Test(arguments: Browser.Kind.allCases) func commandsAreInThePanel(kind: Browser.Kind) throws {
            let web = try WebBroadcast("--viewers-control", "--allow-source", "left=region 640x360+0+0")
            let text = try draw("still", on: web.server)
            let browser = try web.open(kind)
            try browser.wait(forState: "live")
            try wait(until: "the button is there") { try browser.isShown("command") }
            #expect(try !browser.isShown("command-panel"))
            let places =
                "JSON.stringify([...document.querySelectorAll('#controls .tool')].map(t => t.getBoundingClientRect().y))"
            let before = try browser.evaluate(places, as: String.self)
            try browser.click("command")
            try wait(until: "the panel is there") { try browser.isShown("command-panel") }
            #expect(try browser.evaluate(places, as: String.self) == before)
            #expect(try browser.audit() == [])
            for direction in ["rtl", "ltr"] {
                let _: Bool = try browser.evaluate("(document.dir = '\(direction)', true)", as: Bool.self)
                #expect(try browser.audit() == [], "\(direction)")
            }
            try browser.size(1280, 720)
            func choose(_ id: String, _ value: String) throws {
                let script = """
                    (() => { const choice = document.getElementById('\(id)'); choice.value = '\(value)';
                    choice.dispatchEvent(new Event('change')); return true; })()
                    """
                let _: Bool = try browser.evaluate(script, as: Bool.self)
            }
            try choose("legibility", "on")
            try wait(until: "the sender knows") { try status(web).contains("\"legibility\":\"on\"") }
            #expect(try web.broadcast.run("legibility", "off").code == 0)
            try wait(until: "the page knows") {
                try browser.evaluate("document.getElementById('legibility').value", as: String.self) == "off"
            }
            // What the viewer sees, twice as large as what fits.
            let zoom =
                "(() => { for (let i = 0; i < 4; i++) dispatchEvent(new KeyboardEvent('keydown', { key: '+' })); return true; })()"
            let _: Bool = try browser.evaluate(zoom, as: Bool.self)
            try browser.click("show-part")
            try wait(until: "all see it") { try status(web).contains("\"viewport\":[") }
            let seen = try status(web)
            let edges = try #require(
                seen.split(separator: "\"viewport\":[").dropFirst().first { $0.contains("]") }?.prefix { $0 != "]" }
            )
            let numbers = edges.split(separator: ",").compactMap { Int($0) }
            #expect(numbers.count == 4 && numbers[0] > 100 && numbers[2] < 1180 && numbers[1] > 50, "\(numbers)")
            #expect(
                abs((numbers[0] + numbers[2]) / 2 - 640) <= 12 && abs((numbers[1] + numbers[3]) / 2 - 360) <= 60,
                "\(numbers)"
            )
            #expect(try web.broadcast.run("status").output.contains("viewers see the part \(edges)"))
            try browser.click("show-whole")
            try wait(until: "all see all") {
                try !status(web).contains("\"viewport\":[0") && !status(web).contains("\"viewport\":[\(edges)")
            }
            let message = """
                (() => { document.getElementById('message-text').value = 'hello there';
                document.getElementById('message').requestSubmit(); return true; })()
                """
            let _: Bool = try browser.evaluate(message, as: Bool.self)
            try web.sender.wait(until: "it is told") { web.sender.errorOutput.contains("viewer 1 says: hello there") }
            try choose("source", "left")
            try wait(until: "it is shown") { try web.broadcast.run("status").output.contains("640x360") }
            try wait(until: "the panel shows it") {
                try browser.evaluate("document.getElementById('source').value", as: String.self) == "left"
            }
            // What others have chosen.
            #expect(try web.broadcast.run("status-frame", "high").code == 0)
            try browser.click("command")
            try browser.click("command")
            try wait(until: "the panel shows that, too") {
                try browser.evaluate("document.getElementById('status-frame').value", as: String.self) == "high"
            }
            #expect(try web.broadcast.run("status").output.contains("status frame high"))
            try browser.click("point-middle")
            try web.sender.wait(until: "it is pointed at") { web.sender.errorOutput.contains("viewer 1 points at ") }
            text.stop()
        }
    }
}
