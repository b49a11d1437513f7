import Foundation
import Posix
import TestSupport
import Time

/// Pages of the workload.
struct PageKind {
    let name: String
    let workload: String
    let options: [String]
}

/// Successive pages, and the times at which a viewer can read them.
final class PageScene {
    let web: any SharedScreen
    let browser: Browser
    private let painted = Sightings()

    /// - Parameter rate: pages a second.
    init(_ pages: PageKind, rate: Double, by sender: String, over link: Link) throws {
        web = try share(
            pages.workload,
            ["--rate", "\(rate)"] + pages.options,
            by: sender,
            over: link,
            capturingOutput: true
        )
        let (output, painted) = (web.stage.workload.outputDescriptor, painted)
        _ = try Thread { readCounterLines(output, into: painted) }
        browser = try web.viewer()
        let _: Bool? = try browser.evaluateOptional(watchLuma)
        let _: Bool? = try browser.evaluateOptional(
            """
            (() => {
                window.arrived = [];
                setInterval(async () => {
                    const {bytesReceived, headerBytesReceived, packetsReceived} = [...(await oriel.pc.getStats()).values()]
                        .find(({type, kind}) => type === 'inbound-rtp' && kind === 'video');
                    const at = performance.timeOrigin + performance.now();
                    arrived.push([at, bytesReceived + headerBytesReceived + 52 * packetsReceived]);
                }, 100);
            })()
            """
        )
    }

    /// The paint time of the next page, in milliseconds of the wall clock.
    func awaitPage() throws -> Double {
        let known = painted.all.keys.max() ?? 0
        try wait(until: "the next page is there", timeout: .seconds(30)) { painted.all.keys.max() ?? 0 > known }
        return Double(painted.all[known + 1]!.nanoseconds) / 1e6 + wallClockAtMonotonicZero()
    }

    struct Reading {
        /// Milliseconds from paint to a picture of 30 and of 36 dB.
        let readable: Double
        let clear: Double
        /// In dB.
        let last: Double
        /// The longest time without another picture until it is clear.
        let freeze: Double
    }

    func reading(of wanted: Picture, since time: Double, for limit: Double) throws -> Reading {
        let frames = try browser.evaluate(takeFrames(since: time, for: Int(limit)), as: [LumaFrame].self)
        let seen = frames.map { (after: $0.at - time, quality: wanted.lumaPSNR(ofEveryFourthRow: Array($0.luma))) }
        let clear = seen.first { $0.quality >= 36 }?.after ?? limit
        let times = [0] + seen.map(\.after).filter { $0 < clear } + [clear]
        return Reading(
            readable: seen.first { $0.quality >= 30 }?.after ?? limit,
            clear: clear,
            last: seen.last?.quality ?? 0,
            freeze: zip(times.dropFirst(), times).map { $0 - $1 }.max()!
        )
    }

    /// Bits a second that arrived between two instants, with all headers.
    func rate(from: Double, to: Double) throws -> Double {
        let arrived = try browser.evaluate("arrived", as: [[Double]].self).filter { from...to ~= $0[0] }
        guard let first = arrived.first, let last = arrived.last, last[0] > first[0] else { return 0 }
        return (last[1] - first[1]) * 8 / (last[0] - first[0]) * 1000
    }
}
