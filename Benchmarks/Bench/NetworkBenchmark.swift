import Foundation

let networkCommand = "tools/bench network"

/// The way from the screen to Chromium over thin, lossy and changing links, measured at the viewer's decoder. Each is
/// printed as soon as it is measured.
func networkSections(_ options: RunOptions, only name: String) -> [Section] {
    let sections: [(String, (RunOptions) -> Section)] =
        [
            ("thin", thinSection), ("switch", switchSection), ("far", farSection), ("lossy", lossySection),
            ("terminal", smoothScrollingSection),
            ("drop", dropSection), ("film", filmSection), ("beside", filmBesideTextSection), ("typing", typingSection),
            ("shared", sharedSection),
            ("bulk", bulkSection),
            ("bad", badSection), ("join", joinSection), ("receivers", receiversSection),
        ] + smoothSections
    return sections.filter { name.isEmpty || $0.0.contains(name) }.map { _, measure in
        let section = measure(options)
        section.print()
        return section
    }
}

/// The measured sender: Oriel with a codec, or Chromium's own share.
///
/// - Parameter options: of the workload.
func share(
    _ kind: String,
    _ options: [String] = [],
    by sender: String,
    over link: Link,
    capturingOutput: Bool = false
) throws -> any SharedScreen {
    sender == chromium
        ? try ChromiumStage(kind, options, link: link, capturingOutput: capturingOutput)
        : try WebStage(kind, options, codec: sender, link: link, capturingOutput: capturingOutput)
}

let chromium = "chromium"
