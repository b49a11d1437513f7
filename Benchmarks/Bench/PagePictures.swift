import ArgumentParser
import Foundation
import TestSupport

/// `tools/pictures`: photographs the viewer's page in each of its states.
struct PagePicturesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pictures",
        abstract: "The viewer's page in each of its states, as PNG files.",
        shouldDisplay: false
    )

    @Option(help: ArgumentHelp("Folder for the pictures.", valueName: "dir"))
    var output = "docs/pictures"

    @Option(help: ArgumentHelp("The picture on the shared screen.", valueName: "png"))
    var screen = "Tests/Gallery/spreadsheet.png"

    func run() throws {
        stopChildrenOnSignals()
        try FileManager.default.createDirectory(atPath: output, withIntermediateDirectories: true)
        try photographWatching()
        try photographKnocking()
        try photographLease()
    }

    // MARK: - States

    private func photographWatching() throws {
        let sources = ["--allow-source", "table=region 1280x720+0+0", "--allow-source", "all=screen"]
        let web = try stage(["--viewers-control", "--viewers-see-names"] + sources)
        let browser = try web.viewer()
        let other = try web.viewer(.firefox)
        try browser.size(800, 500)
        try stir(browser)
        try take("live", browser)
        try press("s", browser, until: "!document.getElementById('panel').hidden")
        try stir(browser)
        try take("statistics", browser)
        try press("s", browser, until: "document.getElementById('panel').hidden")
        try press("o", browser, until: "!document.getElementById('command-panel').hidden")
        try stir(browser)
        try take("control", browser)
        try run("document.dir = 'rtl'; document.documentElement.lang = 'ar'", browser)
        try stir(browser)
        try take("right-to-left", browser)
        try run("document.dir = 'ltr'; document.documentElement.lang = 'en'", browser)
        try press("o", browser, until: "document.getElementById('command-panel').hidden")

        try other.size(390, 700)
        try stir(other)
        try press("o", other, until: "!document.getElementById('command-panel').hidden")
        try stir(other)
        try take("phone", other)

        let folder = try TemporaryFolder()
        let recorder = try ChildProcess(try sibling("oriel"), ["record", "--dir", web.bridge, "--to", folder.path])
        try wait(until: "the page tells of it") {
            try browser.evaluate("!document.getElementById('recording').hidden", as: Bool.self)
        }
        try stir(browser)
        try take("recording", browser)
        recorder.stop()
        try Subprocess.run([try sibling("oriel"), "pause", "--dir", web.bridge])
        try browser.wait("paused")
        try stir(browser)
        try take("paused", browser)
    }

    private func photographKnocking() throws {
        let web = try stage(["--accept", "ask"])
        let browser = try web.browser(.chromium)
        try browser.open(web.page)
        try browser.size(800, 500)
        try browser.wait("knocking")
        try run("document.getElementById('name').value = 'Ann'", browser)
        try take("knocking", browser)
        try run("document.getElementById('knock').requestSubmit()", browser)
        try browser.wait("asking")
        try take("asking", browser)
        try wait(until: "the sender knows") {
            try Subprocess.run([try sibling("oriel"), "status", "--dir", web.bridge]).contains("Ann")
        }
        try Subprocess.run([try sibling("oriel"), "reject", "1", "--dir", web.bridge])
        try browser.wait("rejected")
        try take("rejected", browser)
    }

    private func photographLease() throws {
        let web = try stage(["--lease", "30"])
        let browser = try web.viewer()
        try browser.size(800, 500)
        // As if the page were hidden behind another one.
        try run("Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })", browser)
        try wait(until: "the page asks") {
            try browser.evaluate("!document.getElementById('lease').hidden", as: Bool.self)
        }
        try take("lease", browser)
        try browser.wait("lease_expired")
        try take("lease-expired", browser)
    }

    // MARK: - Steps

    private func stage(_ options: [String]) throws -> WebStage {
        try WebStage("pictures", ["--picture", screen], options: options)
    }

    private func run(_ script: String, _ browser: Browser) throws {
        let _: Bool? = try browser.evaluateOptional("(() => { \(script); return true; })()")
    }

    private func press(_ key: String, _ browser: Browser, until isDone: String) throws {
        try wait(until: "the key \(key) takes effect") {
            if try browser.evaluate(isDone, as: Bool.self) { return true }
            try run("dispatchEvent(new KeyboardEvent('keydown', { key: '\(key)' }))", browser)
            return try browser.evaluate(isDone, as: Bool.self)
        }
    }

    /// The controls appear under a pointer that moves.
    private func stir(_ browser: Browser) throws {
        try run("dispatchEvent(new PointerEvent('pointermove', { pointerType: 'mouse' }))", browser)
    }

    private func take(_ name: String, _ browser: Browser) throws {
        // Transitions end.
        sleep(seconds: 1)
        let path = "\(output)/\(name).png"
        try browser.screenshot(path)
        print(path)
    }
}

extension Browser {
    fileprivate func wait(_ state: String) throws {
        try TestSupport.wait(until: "the page is \(state)") {
            try evaluate("document.documentElement.dataset.state", as: String.self) == state
        }
    }
}
