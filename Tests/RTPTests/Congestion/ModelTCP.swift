import Glibc
import TestSupport
import Time

/// A transfer by TCP Reno: one without end, or one file after another with pauses between (RFC 8868 §8).
struct ModelTCP {
    private static let size = 1500

    /// Files of 100 kB to 1 MB, and pauses of 10 s in the mean, exponentially distributed.
    private struct Files {
        var random: SplitMix
        var pausesUntil: Instant

        mutating func nextPacketCount() -> Int { Int.random(in: 100_000...1_000_000, using: &random) / ModelTCP.size }

        mutating func nextPause() -> Duration { .seconds(-10 * log(1 - Double.random(in: 0..<1, using: &random))) }
    }

    private var files: Files?
    private var isFileOnItsWay = false
    /// Packets of the file that were not sent yet.
    private var left = Int.max
    private var window = 10.0
    private var threshold = Double.infinity
    private var inFlight = 0
    private var acknowledgements: [(at: Instant, isLoss: Bool)] = []
    private var recoversUntil = Instant.start
    private(set) var bytesArrived = 0
    private(set) var filesArrived = 0

    /// A transfer without end.
    init() {}

    /// One file after another.
    init(filesFrom start: Instant, beginsWithPause: Bool, seed: UInt64) {
        var files = Files(random: SplitMix(seed: seed), pausesUntil: start)
        if beginsWithPause { files.pausesUntil = start + files.nextPause() }
        self.files = files
        left = 0
    }

    mutating func step(at now: Instant, over link: inout VirtualLink) {
        for event in acknowledgements where event.at <= now {
            inFlight -= 1
            if !event.isLoss {
                bytesArrived += Self.size
                window += window < threshold ? 1 : 1 / window
            } else {
                if left < Int.max { left += 1 }
                guard now >= recoversUntil else { continue }
                window = max(2, window / 2)
                threshold = window
                recoversUntil = now + link.conditions.delay * 2 + link.waiting(at: now)
            }
        }
        acknowledgements.removeAll { $0.at <= now }
        if left == 0, inFlight == 0 { beginNextFile(at: now) }
        while Double(inFlight) < window, left > 0 {
            inFlight += 1
            if left < Int.max { left -= 1 }
            let wait = link.waiting(at: now)
            if let arrival = link.send(Self.size, at: now).first {
                acknowledgements.append((arrival + link.conditions.delay, false))
            } else {
                acknowledgements.append((now + wait + link.conditions.delay * 2, true))
            }
        }
    }

    /// Each file has a connection of its own, with a slow start.
    private mutating func beginNextFile(at now: Instant) {
        guard var files, now >= files.pausesUntil else { return }
        if isFileOnItsWay {
            files.pausesUntil = now + files.nextPause()
            filesArrived += 1
            isFileOnItsWay = false
        } else {
            (window, threshold, left) = (10, .infinity, files.nextPacketCount())
            isFileOnItsWay = true
        }
        self.files = files
    }
}
