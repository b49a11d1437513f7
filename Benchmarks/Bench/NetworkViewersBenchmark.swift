import Foundation
import Posix
import TestSupport
import Time

private func bytesReceived(_ browser: Browser) throws -> Double {
    try browser.evaluate(
        """
        (async () => [...(await oriel.pc.getStats()).values()].find(
            entry => entry.type === 'inbound-rtp' && entry.kind === 'video').bytesReceived)()
        """
    )
}

func sharedSection(_ options: RunOptions) -> Section {
    var samples = Samples()
    for _ in 0..<options.rounds {
        samples.record {
            let web = try WebStage("film", ["--rate", "20"], link: Link(rate: 3_000_000, roundTrip: .milliseconds(40)))
            let browsers = try (0..<3).map { _ in try web.viewer() }
            sleep(seconds: 15)
            let before = try browsers.map(bytesReceived)
            sleep(seconds: 20)
            let rates = zip(try browsers.map(bytesReceived), before).map { ($0 - $1) * 8 / 20 / 1e6 }
            let mean = rates.reduce(0, +) / 3
            return [mean, rates.map { abs($0 / mean - 1) * 100 }.max()!]
        }
    }
    let title = "3 Mb/s, three viewers, motion"
    var table = Table(["each Mb/s, mean", "farthest from it, %"])
    table.rows.append([samples.median(0)?.text(2) ?? samples.failureText, samples.median(1)?.text(1) ?? ""])
    return Section(
        title: title,
        table: table,
        goals: [
            Goal(
                "\(title): from the mean",
                samples.median(1),
                atMost: 25,
                unit: "%",
                digits: 1,
                command: networkCommand
            )
        ]
    )
}

/// A viewer beside a greedy transfer, over 30 s.
func bulkSection(_ options: RunOptions) -> Section {
    var samples = Samples()
    for _ in 0..<options.rounds {
        samples.record {
            let web = try WebStage("film", ["--rate", "20"], link: Link(rate: 4_000_000, roundTrip: .milliseconds(40)))
            let browser = try web.viewer()
            sleep(seconds: 8)
            let sink = """
                import socket
                server = socket.create_server(("\(Network.viewerAddress)", 9000))
                connection, _ = server.accept()
                while connection.recv(1 << 16): pass
                """
            let source = """
                import socket
                connection = socket.create_connection(("\(Network.viewerAddress)", 9000))
                while True: connection.sendall(bytes(1 << 16))
                """
            let commands = [
                web.network.atViewer(["/usr/bin/python3", "-c", sink]),
                web.network.atSender(["/usr/bin/python3", "-c", source]),
            ]
            let receiver = try ChildProcess(commands[0][0], Array(commands[0].dropFirst()))
            sleep(seconds: 1)
            let transfer = try ChildProcess(commands[1][0], Array(commands[1].dropFirst()))
            defer { for process in [transfer, receiver] { process.stop() } }
            sleep(seconds: 10)
            let before = try bytesReceived(browser)
            sleep(seconds: 30)
            try transfer.requireRunning()
            return [(try bytesReceived(browser) - before) * 8 / 30 / 4_000_000 * 100]
        }
    }
    let title = "4 Mb/s beside a bulk transfer by TCP, motion"
    var table = Table(["share of the link, %"])
    table.rows.append([samples.median(0)?.text(1) ?? samples.failureText])
    return Section(
        title: title,
        table: table,
        goals: [Goal("\(title): share", samples.median(0), atLeast: 30, unit: "%", digits: 1, command: networkCommand)]
    )
}

/// The picture of forty viewers with good links, alone and beside ten with bad ones.
func badSection(_ options: RunOptions) -> Section {
    var samples = [Samples(), Samples()]
    for _ in 0..<options.rounds {
        for index in 0..<2 { samples[index].record { try beside(badViewers: 10 * index) } }
    }
    var table = Table([
        "viewers", "to decoded p50 ms", "p95", "shown of 400", "of 40 each fps", "lost", "of 10 bad each fps",
    ])
    for (name, sample) in zip(["40", "40 and 10 at 500 kb/s"], samples) {
        table.rows.append(
            [name] + (0..<6).map { sample.median($0)?.text($0 == 3 || $0 == 5 ? 1 : 0) ?? sample.failureText }
        )
    }
    let ratio = samples[1].median(1).flatMap { bad in samples[0].median(1).map { bad / $0 } }
    return Section(
        title: "Ten of fifty viewers at 500 kb/s, RTT 50 ms, motion at 20 Hz",
        table: table,
        goals: [
            Goal(
                "ten bad links: p95 of the others beside theirs alone",
                ratio,
                atMost: 1.3,
                unit: "times",
                command: networkCommand
            ),
            Goal(
                "ten bad links: pictures the others see",
                samples[1].median(2).flatMap { bad in samples[0].median(2).map { bad / $0 } },
                atLeast: 0.97,
                unit: "times",
                command: networkCommand
            ),
        ],
        notes: [
            "All but one of the viewers are processes that count and decode nothing; the ten report once a second and no more."
        ]
    )
}

private func beside(badViewers count: Int) throws -> [Double] {
    let ports: ClosedRange<UInt16> = 20_000...20_099
    let link = Link(rate: 500_000, roundTrip: .milliseconds(50), ports: ports)
    let web = try WebStage("film", ["--rate", "20"], codec: "vp8", link: link, capturingOutput: true)
    let scene = try CountedScene(of: web)
    func load(_ viewers: Int, _ ports: [String]) throws -> Subprocess {
        let arguments = [Counterparts.load, "\(web.origin)/whep", WebStage.token, "\(viewers)", "40", "VP8"]
        return try Subprocess(web.network.atViewer(arguments + ports))
    }
    let good = try load(39, [])
    let bad = count == 0 ? nil : try load(count, ["\(ports.lowerBound)", "\(ports.upperBound)"])
    sleep(seconds: 15)
    let from: Instant = MonotonicClock.now()
    sleep(seconds: 20)
    let sights = try scene.sights(from: from, to: MonotonicClock.now())
    struct Report: Decodable {
        let frames: Double
        let lost: Double
        let seconds: Double
    }
    func report(_ load: Subprocess) throws -> Report {
        try load.wait(timeout: .seconds(60))
        return try JSONDecoder().decode(Report.self, from: Data(load.output.utf8))
    }
    let seen = try report(good)
    let bySlow = try bad.map { try report($0) }
    return [
        sights.latencies.median ?? 20_000, sights.latencies.percentile(95) ?? 20_000, Double(sights.latencies.count),
        seen.frames / seen.seconds / 39, seen.lost, bySlow.map { $0.frames / $0.seconds / Double(count) } ?? 0,
    ]
}
