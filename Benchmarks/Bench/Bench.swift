import ArgumentParser
import Foundation

/// Measures Oriel and its rivals on one machine, in one run.
@main
struct Bench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measures Oriel beside its rivals.",
        subcommands: [
            All.self, KernelsCommand.self, BridgeCommand.self, EncodeCommand.self, PipelineCommand.self,
            QualityCommand.self, ChangeCommand.self, RecoveryCommand.self, WebCommand.self, SoakCommand.self,
            DifferentialCommand.self, BridgeReader.self, SoundRingReader.self, CallsCommand.self, NetworkCommand.self,
            SoundCommand.self, RecordCommand.self, LiveCommand.self, NearbyBenchCommand.self, HostileCommand.self,
            PagePicturesCommand.self, WireCommand.self,
        ],
        defaultSubcommand: All.self
    )
}

struct RunOptions: ParsableArguments {
    @Option(help: "Length of each measurement.")
    var seconds = 6.0

    @Option(help: "How often each measurement is repeated; the median counts.")
    var rounds = 5

    func validate() throws {
        guard seconds >= 1, rounds >= 1 else { throw ValidationError("--seconds and --rounds start at 1.") }
    }
}

struct All: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure everything and write results.md and results.svg."
    )

    @OptionGroup var options: RunOptions

    @Option(help: ArgumentHelp("Folder for the results.", valueName: "dir"))
    var output = "Benchmarks"

    func run() throws {
        stopChildrenOnSignals()
        var report = Report()
        let parts = [
            kernelSections, bridgeSections, encodeSections, pipelineSections, qualitySections, changeSections,
            recoverySections,
            webSections,
        ]
        for part in parts {
            for section in part(options) {
                section.print()
                report.sections.append(section)
            }
            // A run of this length may be interrupted.
            try report.write(to: output)
        }
        report.printGoals()
    }
}

struct KernelsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "kernels", abstract: "Conversion and scaling.")
    @OptionGroup var options: RunOptions

    func run() { show(kernelSections, options) }
}

struct BridgeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "bridge", abstract: "Frames between two processes.")
    @OptionGroup var options: RunOptions

    func run() { show(bridgeSections, options) }
}

struct EncodeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "encode", abstract: "Each codec on each workload.")
    @OptionGroup var options: RunOptions

    func run() { show(encodeSections, options) }
}

struct PipelineCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pipeline",
        abstract: "From the screen to the receiver, beside ffmpeg and GStreamer."
    )
    @OptionGroup var options: RunOptions

    func run() { show(pipelineSections, options) }
}

struct QualityCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "quality",
        abstract: "How near the received pictures are to the screen."
    )

    @OptionGroup var options: RunOptions

    func run() { show(qualitySections, options) }
}

struct ChangeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "change",
        abstract: "How cost follows change: by stage, by area, on a 4K screen; bytes and allocations."
    )

    @OptionGroup var options: RunOptions

    func run() { show(changeSections, options) }
}

struct RecoveryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recovery",
        abstract: "How soon pictures flow again after kill -9."
    )
    @OptionGroup var options: RunOptions

    func run() { show(recoverySections, options) }
}

struct WebCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "web",
        abstract: "From the screen to browsers, one and fifty viewers."
    )
    @OptionGroup var options: RunOptions

    func run() { show(webSections, options) }
}

struct SoundCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sound",
        abstract: "Sound: its latency, its cost, and its quality under loss."
    )
    @OptionGroup var options: RunOptions

    @Option(help: "Measure only sections with this in their names: latency, talk, cost, loss, picture or lips.")
    var only = ""

    func run() {
        stopChildrenOnSignals()
        Report(sections: soundSections(options, only: only)).printGoals()
    }
}

struct RecordCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record",
        abstract: "Recording: its cost beside a share, how soon a file is there, and what a crash loses."
    )
    @OptionGroup var options: RunOptions

    @Option(help: "Measure only sections with this in their names: cost, memory, speed, live, hour or kill.")
    var only = ""

    @Option(help: "How often a recorder is killed.")
    var kills = 50

    @Option(help: "How long a still screen is recorded; what it takes is scaled to an hour.")
    var minutes = 3.0

    func validate() throws {
        guard kills >= 1, minutes >= 0.1 else { throw ValidationError("--kills starts at 1, and --minutes at 0.1.") }
    }

    func run() {
        stopChildrenOnSignals()
        let options = RecordOptions(run: options, kills: kills, minutes: minutes)
        Report(sections: recordSections(options, only: only)).printGoals()
    }
}

struct LiveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "live",
        abstract: "Links with rights, views with an end, and commands of viewers."
    )
    @OptionGroup var options: RunOptions

    @Option(
        help: "Measure only sections with this in their names: start, revoke, viewport, command, grants or guesses."
    )
    var only = ""

    func run() {
        stopChildrenOnSignals()
        Report(sections: liveSections(options, only: only)).printGoals()
    }
}

struct NearbyBenchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nearby",
        abstract: "Devices nearby: how soon they are found and gone, their files, and what they cost."
    )
    @OptionGroup var options: RunOptions

    @Option(help: "Measure only sections with this in their names: found, link, file or idle.")
    var only = ""

    func run() {
        stopChildrenOnSignals()
        Report(sections: nearbySections(options, only: only)).printGoals()
    }
}

struct CallsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "calls",
        abstract: "Calls of other servers: rooms and media servers."
    )
    @OptionGroup var options: RunOptions

    @Option(help: "Measure only sections with this in their names: attach, restart, further, rooms, fan-out.")
    var only = ""

    func run() {
        stopChildrenOnSignals()
        Report(sections: callsSections(options, only: only)).printGoals()
    }
}

struct HostileCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hostile",
        abstract: "A good viewer, newcomers and memory while somebody else attacks."
    )
    @OptionGroup var options: RunOptions

    @Option(help: "Only the attacks whose names contain this.")
    var only = ""

    func run() {
        stopChildrenOnSignals()
        Report(sections: hostileSections(options, only: only)).printGoals()
    }
}

struct NetworkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "network",
        abstract: "From the screen to browsers over thin, lossy and changing links; writes network.svg."
    )
    @OptionGroup var options: RunOptions

    @Option(help: "Only the links whose names contain this.")
    var only = ""

    func run() throws {
        stopChildrenOnSignals()
        let sections = networkSections(options, only: only)
        Report(sections: sections).printGoals()
        guard only.isEmpty else { return }
        try svg(of: sections.compactMap(\.chart))
            .write(toFile: "Benchmarks/network.svg", atomically: true, encoding: .utf8)
    }
}

private func show(_ measure: (RunOptions) -> [Section], _ options: RunOptions) {
    stopChildrenOnSignals()
    let sections = measure(options)
    for section in sections { section.print() }
    Report(sections: sections).printGoals()
}
