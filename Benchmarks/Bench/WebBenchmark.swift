import Foundation
import Glibc
import Pixels
import Posix
import TestSupport

let webCommand = "tools/bench web"

func webSections(_ options: RunOptions) -> [Section] {
    [
        loadSection(options), lateSection(options), webLatencySection(options), motionSection(options),
        sharpSection(options), viewersSection(options), idleSection(options),
    ]
}

/// The time to the first picture for a viewer that opens the page while the screen stands still.
func loadSection(_ options: RunOptions) -> Section {
    let kinds = Browser.Kind.allCases
    var samples = kinds.map { _ in Samples() }
    var besideDead = kinds.map { _ in Samples() }
    for (index, kind) in kinds.enumerated() {
        samples[index].record { try loads(kind, count: 4 * options.rounds) }
        besideDead[index].record { try loads(kind, count: 4 * options.rounds, options: deadServers) }
    }
    var table = Table(["browser", "p50 ms", "p95 ms"])
    var goals: [Goal] = []
    func show(_ name: String, _ sample: Samples) {
        table.rows.append([
            name, (sample.median(0)?.text(0) ?? sample.failureText), sample.median(1)?.text(0) ?? "",
        ])
    }
    for (kind, (sample, dead)) in zip(kinds, zip(samples, besideDead)) {
        show(kind.rawValue, sample)
        show("\(kind.rawValue), dead STUN and TURN servers", dead)
        let added = sample.median(0).flatMap { usual in dead.median(0).map { $0 - usual } }
        goals.append(
            Goal(
                "first frame later by dead STUN and TURN servers, p50, \(kind.rawValue)",
                added,
                atMost: 50,
                unit: "ms",
                digits: 0,
                command: webCommand
            )
        )
        goals.append(
            Goal(
                "page load to first frame, p95, \(kind.rawValue)",
                sample.median(1),
                atMost: 1000,
                unit: "ms",
                digits: 0,
                command: webCommand
            )
        )
    }
    return Section(
        title: "Page load to first decoded frame, still screen",
        table: table,
        goals: goals,
        notes: [
            "From the start of the navigation, by the browser's own clock; the browser runs already.",
            "Dead servers stand at an unused address: packets to it are lost without a word.",
        ]
    )
}

/// Servers at an unused address of the network: packets to it are lost without a word.
private let deadServers = ["--stun", "10.99.0.77", "--turn", "u:p@10.99.0.77"]

/// - Parameter options: of the sender, besides the common ones.
private func loads(_ kind: Browser.Kind, count: Int, options: [String] = []) throws -> [Double] {
    let web = try WebStage("still", options: options)
    let browser = try web.browser(kind)
    var times: [Double] = []
    for _ in 0...count {
        try browser.open("about:blank")
        try browser.open(web.page)
        try wait(until: "the page is live") { try browser.evaluate("oriel.state", as: String.self) == "live" }
        times.append(try browser.evaluate("oriel.firstFrameAt", as: Double.self))
    }
    times.removeFirst()  // the browser's first connection of all
    return [times.median!, times.percentile(95)!]
}
