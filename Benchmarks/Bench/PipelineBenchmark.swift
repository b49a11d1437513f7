func pipelineSections(_ options: RunOptions) -> [Section] {
    [costSection(options), latencySection(options), footprintSection(options)]
}

let pipelineCommand = "tools/bench pipeline"
let workloads = ["still", "typing", "scrolling", "motion", "window", "pointer"]

/// Collects the samples of one contender over the rounds, or the reason for having none.
struct Samples {
    private(set) var values: [[Double]] = []
    private(set) var failure: String?

    mutating func record(_ measure: () throws -> [Double]) {
        do {
            values.append(try measure())
        } catch {
            failure = "\(error)"
        }
    }

    /// The median of one of the figures in each sample.
    func median(_ figure: Int = 0) -> Double? { values.map { $0[figure] }.median }

    var failureText: String { "failed: \(failure ?? "nothing was measured")" }
}
