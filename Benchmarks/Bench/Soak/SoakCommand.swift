import ArgumentParser
import Foundation
import Posix
import TestSupport
import Time

/// Runs a broadcast and its senders for hours, with all their faults, and reports the losses.
struct SoakCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "soak",
        abstract: "Run a broadcast and senders under random faults and interaction; report leaks and losses.",
        discussion: "Exits 1 if anything leaked, came too late, was torn or went backwards."
    )

    @Argument(help: "How long, in hours.")
    var hours: Double

    @Option(help: "Of the random numbers; another one each time if not given.")
    var seed: UInt64?

    func validate() throws {
        guard hours > 0 else { throw ValidationError("HOURS must be above 0.") }
    }

    func run() throws {
        stopChildrenOnSignals()
        let seed = seed ?? UInt64.random(in: 1...1_000_000)
        print("soaking for \(hours) hours with --seed \(seed)")
        var random = SplitMix(seed: seed)
        let scene = try SoakScene()
        let ledger = SoakLedger()
        let start: Instant = MonotonicClock.now()
        let seconds = hours * 3600
        var nextReport = 60.0
        while secondsSince(start) < seconds {
            // In the first half, any process may die. After it, living ones must not grow.
            let isLethal = secondsSince(start) < seconds / 2
            if !isLethal, !ledger.hasBaseline { ledger.noteBaseline(scene.usage()) }
            let faults = SoakFault.allCases.filter { isLethal || !$0.isLethal }
            let fault = faults.randomElement(using: &random)!
            ledger.note(fault, try scene.suffer(fault, &random))
            if secondsSince(start) > nextReport {
                nextReport += 60
                ledger.printLine(minutes: secondsSince(start) / 60, scene.readings, scene.usage())
            }
            sleep(seconds: .random(in: 0...1.5, using: &random))
        }
        let usage = scene.usage()
        let readings = scene.readings
        let leftovers = try scene.end()
        ledger.printReport(readings, usage, leftovers: leftovers)
        if ledger.hasFailed(readings, usage, leftovers: leftovers) { throw ExitCode.failure }
    }
}
