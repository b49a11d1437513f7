import Access
import Foundation
import Glibc
import Media
import Posix
import TestSupport
import Time

// MARK: - Start

/// What links with rights and views with an end add to the answer to an offer.
func liveStartSection(_ options: RunOptions) -> Section {
    var samples = Samples()
    samples.record { try starts(count: 100 * options.rounds) }
    var table = Table(["offer to answer", "p50 ms", "p95"])
    let names = ["the link of all, no end", "one of 100 invitations, with a lease"]
    for (index, name) in names.enumerated() {
        table.rows.append([
            name, samples.median(2 * index)?.text(2) ?? samples.failureText,
            samples.median(2 * index + 1)?.text(2) ?? "",
        ])
    }
    let added = samples.median(3).flatMap { with in samples.median(1).map { with - $0 } }
    return Section(
        title: "The start of a view",
        table: table,
        goals: [
            liveGoal("added to the answer by lease and rights, p95", added, atMost: 2, "ms", digits: 2, only: "start")
        ],
        notes: ["On the loopback, in turns; each session is ended before the next."]
    )
}

private func starts(count: Int) throws -> [Double] {
    let stage = try Stage("still")
    let folder = try TemporaryFolder()
    let capture = try Contender.startCapture(stage.display, in: folder)
    defer { capture.stop() }
    let (port, bridge, token) = (try TCPListener().port, folder.path + "/bridge", WebStage.token)
    let sender = try ChildProcess(
        sibling("oriel"),
        ["attach", "web", "--dir", bridge, "--token", token, "--listen", "127.0.0.1:\(port)"]
    )
    defer { sender.stop() }
    sleep(seconds: 1)
    try sender.requireRunning()
    var invited = ""
    for _ in 0..<100 {
        let text = try Subprocess.run([try sibling("oriel"), "invite", "--as", "watch,hear,controls", "--dir", bridge])
        invited = String(text.split(separator: "#").dropFirst().first?.prefix { !$0.isNewline } ?? "")
    }
    // Each address of the loopback is a network of its own, with the limits of one.
    var networks = 0
    func start(_ token: String, _ fields: [String]) throws -> Double {
        networks += 1
        let client = try HTTPClient(port: port, from: "127.1.\(networks / 250).\(networks % 250 + 1)")
        let authorization = "Authorization: Bearer \(token)"
        let begin: Instant = MonotonicClock.now()
        let head = ["Content-Type: application/sdp", "Oriel-Trickle: 1", authorization] + fields
        let answer = try client.request("POST", "/whep", head, body: offer)
        let time = secondsSince(begin) * 1000
        guard answer.status == 201, let location = answer["location"] else {
            throw BenchError("\(answer.status): \(answer.text)")
        }
        guard try client.request("DELETE", "/\(location)", [authorization]).status == 200 else {
            throw BenchError("a session does not end")
        }
        return time
    }
    var (plain, leased): ([Double], [Double]) = ([], [])
    for turn in 0..<count + 5 {
        let (without, with) = (try start(token, []), try start(invited, ["Oriel-Lease: 300"]))
        // The first ones warm up.
        guard turn >= 5 else { continue }
        plain.append(without)
        leased.append(with)
        sleep(seconds: 0.01)
    }
    return [plain.median!, plain.percentile(95)!, leased.median!, leased.percentile(95)!]
}

/// A viewer that wants VP8 and says no more than it must.
private let offer = [
    "v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0", "m=video 9 UDP/TLS/RTP/SAVPF 96",
    "c=IN IP4 0.0.0.0", "a=mid:0", "a=recvonly", "a=rtcp-mux", "a=ice-ufrag:abcd", "a=ice-pwd:0123456789abcdefghijkl",
    "a=fingerprint:sha-256 " + (0..<32).map { _ in "AB" }.joined(separator: ":"), "a=setup:active",
    "a=rtpmap:96 VP8/90000", "a=rtcp-fb:96 nack", "a=rtcp-fb:96 nack pli", "",
].joined(separator: "\r\n")

// MARK: - Grants

/// The work of rights and leases for many views: invitations, and pages that ask for more time.
func liveGrantsSection(_ options: RunOptions) -> Section {
    var samples = Samples()
    // A later round would use the memory of the first one.
    samples.record { try grants(minutes: 60) }
    var table = Table(["1,000 invitations, 200 views", "% of a core", "MB"])
    table.rows.append([
        "each view extended twice a minute", samples.median(0)?.text(4) ?? samples.failureText,
        samples.median(1)?.text(2) ?? "",
    ])
    return Section(
        title: "Rights and leases of many",
        table: table,
        goals: [
            liveGoal(
                "CPU of access and leases",
                samples.median(0),
                atMost: 0.1,
                "% of a core",
                digits: 4,
                only: "grants"
            ),
            liveGoal("memory of access and leases", samples.median(1), atMost: 2, "MB", digits: 2, only: "grants"),
        ],
        notes: [
            "The engine of rights by itself, an hour in virtual time: each second it is asked for the rights of each view."
        ]
    )
}

private func grants(minutes: Int) throws -> [Double] {
    let before = try proportionalMemory(of: getpid())
    var settings = AccessEngine.Settings()
    settings.lease = 300
    var engine = AccessEngine(settings)
    var wish = InviteWish(token: token(0))
    for number in 0..<1000 {
        wish.token = token(number)
        wish.name = "guest \(number)"
        wish.length = .seconds(7200)
        _ = try engine.invite(wish, at: .start)
    }
    let numbers = engine.listedInvites.map(\.number)
    let start: Duration = MonotonicClock.threadTime()
    let ids = (1...200).map { ParticipantID($0) }
    for (index, id) in ids.enumerated() {
        engine.begin(id, by: .invite(numbers[index * 5]))
        _ = engine.beginLease(of: id, wish: nil, at: .start)
    }
    for second in 1...minutes * 60 {
        let now = Instant.start + .seconds(second)
        for (index, id) in ids.enumerated() {
            _ = engine.rights(by: .invite(numbers[index * 5]))
            guard (second + index) % 30 == 0 else { continue }
            engine.noteRequest(of: id, at: now)
            guard case .extended = engine.extendLease(of: id, seconds: 300, at: now) else {
                throw BenchError("view \(id) was not extended after \(second) s")
            }
        }
        engine.tick(now: now)
        _ = engine.takeOutputs()
    }
    let cost = (MonotonicClock.threadTime() - start).seconds / Double(minutes * 60) * 100
    let after = try withExtendedLifetime(engine) { try proportionalMemory(of: getpid()) }
    return [cost, max(0, after - before)]
}

private func token(_ number: Int) -> TokenHash {
    let digits = String(number, radix: 16)
    return TokenHash(rawValue: String(repeating: "0", count: 64 - digits.count) + digits)!
}

// MARK: - Guesses

/// A million wrong tokens while a good viewer looks in.
func liveGuessesSection(_ options: RunOptions) -> Section {
    var table = Table(["a million guesses from", "right", "s", "fps of a good viewer, without", "with"])
    var goals: [Goal] = []
    for addresses in [1, 100] {
        var samples = Samples()
        samples.record { try guesses(from: addresses) }
        table.rows.append(
            ["\(addresses) addresses", samples.median(0)?.text(0) ?? samples.failureText]
                + (1..<4).map { samples.median($0)?.text(1) ?? "" }
        )
        let slower = samples.median(2).flatMap { without in samples.median(3).map { (1 - $0 / without) * 100 } }
        goals.append(
            liveGoal("right guesses of 10⁶, \(addresses) addresses", samples.median(0), atMost: 0, "", only: "guesses")
        )
        goals.append(
            liveGoal("a good viewer slower, \(addresses) addresses", slower, atMost: 5, "%", digits: 1, only: "guesses")
        )
    }
    return Section(
        title: "Tokens are guessed, full-screen motion",
        table: table,
        goals: goals,
        notes: ["The guesser has the lowest priority, as it stands for another machine. There is an invitation."]
    )
}

private struct GuessReport: Decodable {
    let guesses: Int
    let right: Int
    let seconds: Double
}

private func guesses(from count: Int) throws -> [Double] {
    let stage = try AttackedBroadcast()
    try Subprocess.run([try sibling("oriel"), "invite", "--dir", stage.bridge])
    let addresses = (2..<2 + count).map { "10.98.0.\($0)" }
    for address in addresses {
        try Subprocess.run(stage.network.atViewer(["ip", "address", "replace", "\(address)/32", "dev", "wire"]))
    }
    let without = try stage.framesPerSecond(seconds: 6) { sleep(seconds: 6) }
    let command =
        ["/usr/bin/python3", Counterparts.path("guesses.py"), Network.senderAddress, "8080", "1000000"] + addresses
    let pipe = try TestSupport.Pipe()
    let guesser = try Subprocess(stage.network.atViewer(["nice", "-n", "19"] + command), input: pipe.reading.raw)
    defer { guesser.stop() }
    try wait(until: "the guesser is ready", timeout: .seconds(30)) { guesser.output.contains("ready") }
    let with = try stage.framesPerSecond(seconds: 6) {
        try pipe.writing.write("\n")
        sleep(seconds: 6)
    }
    try guesser.wait(timeout: .seconds(600))
    guard let line = guesser.output.split(separator: "\n").last else {
        throw BenchError("no report: \(guesser.errorOutput)")
    }
    let report = try JSONDecoder().decode(GuessReport.self, from: Data(line.utf8))
    guard report.guesses == 1_000_000 else { throw BenchError("only \(report.guesses) guesses were answered") }
    return [Double(report.right), report.seconds, without, with]
}
