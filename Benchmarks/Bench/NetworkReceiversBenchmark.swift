import Posix
import TestSupport
import Time

/// The quality at other receivers over bad links: scrolling text, in their codecs.
func receiversSection(_ options: RunOptions) -> Section {
    let links = [
        ("1 Mb/s, 3 % loss", Link(rate: 1_000_000, roundTrip: .milliseconds(40), loss: 0.03)),
        ("500 kb/s", Link(rate: 500_000, roundTrip: .milliseconds(50))),
    ]
    var table = Table(["receiver"] + links.map { "fps over \($0.0)" })
    var rows: [(String, (Link) throws -> Double)] = [("firefox", fpsInFirefox)]
    for stack in Counterparts.Stack.allCases { rows.append((stack.rawValue, { try fps(in: stack, over: $0) })) }
    for (name, measure) in rows {
        let cells = links.map { _, link in
            var sample = Samples()
            for _ in 0..<min(options.rounds, 3) { sample.record { [try measure(link)] } }
            return sample.median()?.text(1) ?? sample.failureText
        }
        table.rows.append([name] + cells)
    }
    return Section(
        title: "Other receivers, text that scrolls",
        table: table,
        notes: ["aiortc and pion tell of no packets but by reports, once a second; pion decodes nothing."]
    )
}

private func fpsInFirefox(over link: Link) throws -> Double {
    let web = try WebStage("scrolling", codec: "auto", link: link)
    let browser = try web.viewer(.firefox)
    func decoded() throws -> Double {
        try browser.evaluate("(async () => (await oriel.stats()).framesDecoded ?? 0)()", as: Double.self)
    }
    sleep(seconds: 8)
    let (before, start) = (try decoded(), MonotonicClock.now() as Instant)
    sleep(seconds: 20)
    return (try decoded() - before) / secondsSince(start)
}

private func fps(in stack: Counterparts.Stack, over link: Link) throws -> Double {
    let web = try WebStage("scrolling", codec: "auto", link: link)
    let seconds = 30.0
    let viewer = try Counterparts.viewer(
        stack,
        of: web.origin + "/whep",
        token: WebStage.token,
        in: web.network,
        ["--frames", "100000", "--seconds", "\(Int(seconds))"]
    )
    return Double(try Counterparts.report(viewer).frames) / seconds
}
