import Glibc
import Pixels
import Posix
import Synchronization
import TestSupport
import Time

/// The time from a paint request to the decoded picture in GStreamer, for a small change at 7 Hz.
func latencySection(_ options: RunOptions) -> Section {
    let measured: [(contender: Contender, kind: String)] = [
        (.oriel, "counter"), (.orielWithoutWake, "counter"), (.ffmpeg, "counter"), (.gstreamer, "counter"),
        (.oriel, "news"), (.ffmpeg, "news"),
    ]
    var samples = measured.map { _ in Samples() }
    for _ in 0..<options.rounds {
        for (index, (contender, kind)) in measured.enumerated() {
            samples[index].record { try latency(of: contender, on: kind, seconds: 2 * options.seconds) }
        }
    }

    var table = Table(["beside", "contender", "p50 ms", "p95 ms", "p50 to ffmpeg"], labels: 2)
    var bars: [Chart.Bar] = []
    var notes = [
        "Beside a page of text that is another one every two seconds, the change comes while that gets sharper."
    ]
    for (index, (contender, kind)) in measured.enumerated() {
        let place = kind == "news" ? "a turned page" : "a still desktop"
        guard let middle = samples[index].median(), let high = samples[index].median(1) else {
            table.rows.append([place, contender.name, "failed", "", ""])
            notes.append("\(contender.name), \(place): \(samples[index].failureText)")
            continue
        }
        let ffmpeg = samples[kind == "news" ? 5 : 2].median()
        let ratio = ffmpeg.map { (middle / $0).text(2) + " ×" } ?? ""
        table.rows.append([place, contender.name, middle.text(1), high.text(1), ratio])
        if kind == "counter" { bars.append(Chart.Bar(label: contender.name, value: middle, isOurs: contender.isOurs)) }
    }
    func goal(_ name: String, _ index: Int, _ limit: Double) -> Goal {
        let ratio = samples[index].median().flatMap { ours in samples[2].median().map { ours / $0 } }
        return Goal(name, ratio, atMost: limit, unit: "× ffmpeg", command: pipelineCommand)
    }
    func absoluteGoal(_ name: String, _ index: Int, _ figure: Int, _ limit: Double) -> Goal {
        Goal(name, samples[index].median(figure), atMost: limit, unit: "ms", digits: 1, command: pipelineCommand)
    }
    return Section(
        title: "Latency, paint to decoded, small change at 7 Hz",
        table: table,
        goals: [
            goal("latency p50", 0, 0.6), goal("latency p50, --no-wake", 1, 1),
            absoluteGoal("latency p50", 0, 0, 6), absoluteGoal("latency p95", 0, 1, 12),
            absoluteGoal("latency p95, beside refinement", 4, 1, 12),
        ],
        chart: Chart(title: "Paint to decoded, median", unit: "ms", groups: [("7 Hz", bars)]),
        notes: notes
    )
}

/// When each value was first painted, and first seen in a received picture.
final class Sightings: Sendable {
    private let times = Mutex<[Int: Instant]>([:])

    func note(_ value: Int, at time: Instant) {
        times.withLock { if $0[value] == nil { $0[value] = time } }
    }

    var all: [Int: Instant] { times.withLock { $0 } }
}

/// p50 and p95 in milliseconds.
///
/// - Parameter accompany: starts what runs beside the broadcast, and returns what keeps it running.
func latency(
    of contender: Contender,
    on kind: String,
    seconds: Double,
    beside accompany: (Broadcast) throws -> Any? = { _ in nil }
) throws -> [Double] {
    let stage = try Stage(kind, capturingOutput: true)
    let port = try freePortPair()
    let control = try UDPSocket(family: AF_INET, port: port + 1)
    defer { _ = control.raw }  // receives, unread, what would otherwise be refused
    let painted = Sightings()
    let output = stage.workload.outputDescriptor
    _ = try Thread { readCounterLines(output, into: painted) }

    let seen = Sightings()
    let reader = NumberReader(width: EncoderSettings.size.width)
    let receiver = try Receiver(port: port) { frame, time in
        if let value = reader.value(in: frame) { seen.note(value, at: time) }
    }
    defer { receiver.stop() }
    let broadcast = try contender.start(stage, port)
    let company = try accompany(broadcast)
    defer { withExtendedLifetime(company) {} }
    sleep(seconds: 3)
    let from: Instant = MonotonicClock.now()
    sleep(seconds: seconds)
    let to: Instant = MonotonicClock.now()
    sleep(seconds: 1)  // what was painted last is still on its way
    try broadcast.requireRunning()

    let pictures = seen.all
    let window = painted.all.filter { (from..<to).contains($0.value) }
    let latencies = window.compactMap { value, time in
        pictures[value].map { ($0 - time).milliseconds }
    }
    guard latencies.count * 10 >= window.count * 9, let middle = latencies.median else {
        throw BenchError("only \(latencies.count) of \(window.count) values arrived")
    }
    return [middle, latencies.percentile(95)!]
}

/// Lines of a value and a time, until the workload ends.
func readCounterLines(_ descriptor: Int32, into painted: Sightings) {
    var pending: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
        let count = read(descriptor, &buffer, buffer.count)
        if count < 0 && errno == EINTR { continue }
        if count <= 0 { return }
        pending += buffer[..<count]
        while let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
            let words = String(decoding: pending[..<end], as: UTF8.self).split(separator: " ")
            if words.count == 2, let value = Int(words[0]), let nanoseconds = UInt64(words[1]) {
                painted.note(value, at: Instant(nanoseconds: nanoseconds))
            }
            pending.removeSubrange(...end)
        }
    }
}
