import Glibc
import Posix
import TestSupport
import Time

let hostileCommand = "tools/bench hostile"

/// One network attacks a broadcast, or a server of rooms. Another one has a good viewer and newcomers. Each section is
/// printed as soon as it is measured.
func hostileSections(_ options: RunOptions, only name: String) -> [Section] {
    let broadcast = [
        ("feedback", "reports of 8,191 packets, 48 in a datagram"), ("nack", "NACK"), ("fir", "FIR"),
        ("never-connect", "viewers that never connect"), ("large-offers", "offers of 200 kB"),
        ("slow-headers", "slow headers"), ("garbage", "knocks with garbage"),
    ]
    let rooms = [
        ("pings", "pings, pongs unread"), ("renewals", "messages by renewed credit"), ("handshakes", "unused sessions"),
        ("connects", "thousands of connects in a body"), ("tokens", "tokens of 95 kB"),
        ("deaf", "a hundred deaf members"),
    ]
    let sections: [(title: String, attacks: [(String, String)], stage: () throws -> any AttackedStage)] = [
        ("Attacks on a broadcast of full-screen motion, VP8", broadcast, { try AttackedBroadcast() }),
        ("Attacks on `oriel rooms`, full-screen motion in one of them", rooms, { try AttackedRooms() }),
    ]
    return sections.compactMap { title, attacks, stage in
        let attacks = attacks.filter { name.isEmpty || $0.0.contains(name) }
        if attacks.isEmpty { return nil }
        let section = hostileSection(title, attacks, options, stage)
        section.print()
        return section
    }
}

private func hostileSection(
    _ title: String,
    _ attacks: [(name: String, description: String)],
    _ options: RunOptions,
    _ stage: () throws -> any AttackedStage
) -> Section {
    var table = Table(
        [
            "attack", "name", "fps of a good viewer, without", "with", "memory, + MB", "newcomers of 3",
            "refused after s",
        ],
        labels: 2
    )
    var goals: [Goal] = []
    for (name, description) in attacks {
        var sample = Samples()
        // Newcomers come in the middle, and have three seconds.
        let seconds = max(options.seconds, 6)
        for _ in 0..<options.rounds { sample.record { try attack(name, on: stage(), seconds: seconds) } }
        table.rows.append([
            description, name, sample.median(0)?.text() ?? sample.failureText, sample.median(1)?.text() ?? "",
            sample.median(2)?.text() ?? "", sample.median(3)?.text(0) ?? "", refusalText(sample.values.map { $0[4] }),
        ])
        goals += hostileGoals(name, sample)
    }
    return Section(
        title: title,
        table: table,
        goals: goals,
        notes: [
            "Frames are those that a viewer of another network gets meanwhile; memory is the highest of the attacked process against "
                + "that before. The attacker has the lowest priority, as it stands for another machine."
        ]
    )
}

private func hostileGoals(_ name: String, _ sample: Samples) -> [Goal] {
    let command = "\(hostileCommand) --only \(name)"
    let without = sample.median(0) ?? 30
    return [
        Goal(
            "\(name): a good viewer",
            sample.median(1),
            // On a machine that does not reach 30 even without an attack, its own rate is the measure.
            atLeast: without >= 29.5 ? 29 : without * 0.97,
            unit: "fps",
            digits: 1,
            command: command
        ),
        Goal("\(name): memory", sample.median(2), atMost: 8, unit: "MB more", digits: 1, command: command),
        Goal("\(name): newcomers", sample.median(3), atLeast: 3, unit: "of 3", digits: 0, command: command),
    ]
}

/// - Parameter refusals: seconds; infinite where there was no refusal.
private func refusalText(_ refusals: [Double]) -> String {
    if refusals.isEmpty { return "" }
    let finite = refusals.filter(\.isFinite)
    guard let median = finite.median else { return "never" }
    return finite.count == refusals.count ? median.text(2) : "\(median.text(2)), or never"
}

/// Returns the good viewer's frames a second without the attack and with it, the attacked process's growth in MB, the
/// number of admitted newcomers, and the seconds until the first refusal.
private func attack(_ name: String, on stage: any AttackedStage, seconds: Double) throws -> [Double] {
    let without = try stage.framesPerSecond(seconds: seconds) { sleep(seconds: seconds) }
    let attacker = try Attacker(stage.attack(name, seconds: seconds), in: stage.network)
    var memory = 0.0
    var newcomers: Newcomers?
    let with = try stage.framesPerSecond(seconds: seconds) {
        let before = try stage.target.memory()
        try attacker.begin()
        let start: Instant = MonotonicClock.now()
        while secondsSince(start) < seconds {
            if newcomers == nil, secondsSince(start) >= 3 {
                newcomers = try Newcomers(stage.newcomers, in: stage.network)
            }
            try stage.target.requireRunning()
            memory = max(memory, try stage.target.memory() - before)
            sleep(seconds: 0.1)
        }
    }
    let refusal = try attacker.outcome().refusedAfter ?? .infinity
    return [without, with, memory, Double(try newcomers?.admitted() ?? 0), refusal]
}
