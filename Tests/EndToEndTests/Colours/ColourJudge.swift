import Glibc
import TestSupport
import Testing

/// How exactly a viewer makes red, green and blue of a decoded picture.
enum Conversion {
    case exact
    /// Of a green that GStreamer encodes and decodes itself, it makes 0, 249, 0.
    case gstreamer

    /// Of an area's mean colour, of 255. AV1 at rest was seen 4.5 off, in libwebrtc.
    func mostOff(_ codec: String) -> Double { self == .gstreamer ? 8 : codec.lowercased() == "av1" ? 5 : 4 }

    /// Of a pixel, of 255. AV1's transform blocks are as wide as four macroblocks, so an edge of the chart rings farther: a pixel was
    /// seen 21 off at rest.
    func mostOffPixel(_ codec: String) -> Int { codec.lowercased() == "av1" ? 32 : 16 }

    /// In dB.
    var leastRamp: Double { self == .gstreamer ? 35 : 36 }
}

/// Waits until a viewer shows what the chart has on the screen: flat areas in the mean, their pixels, and ramps, in each
/// channel.
///
/// - Parameters:
///   - chart: a workload that stands still.
///   - part: what of it is seen.
func waitForColours(
    of chart: Subprocess,
    _ codec: String,
    by conversion: Conversion = .exact,
    through part: (ColourChart) -> ColourChart = { $0 },
    _ picture: () throws -> RGBPicture?
) throws {
    let wanted = part(try #require(ColourChart(chart)))
    var seen = "no picture"
    do {
        try wait(until: "the colours are those of the screen") {
            guard let picture = try picture() else { return false }
            let (flat, ramp) = (wanted.distance(of: picture), wanted.worstRamp(picture))
            seen = "areas \(flat.area) off, pixels \(flat.pixel): \(flat); ramps \(ramp) dB"
            return flat.area <= conversion.mostOff(codec) && flat.pixel <= conversion.mostOffPixel(codec)
                && ramp >= conversion.leastRamp
        }
    } catch let timeout as WaitTimeout {
        throw Unexpected("\(timeout): \(seen)")
    }
}

/// A chart that has changed for a while, and stands still.
func stillChart(on server: XServer) throws -> Subprocess {
    let chart = try draw("chart", on: server, "--rate", "10")
    try wait(until: "the chart changes for a while") { ColourChart(chart)?.beat ?? 0 > 15 }
    try standStill(chart)
    return chart
}

/// A stopped process may have drawn what it has not told of.
func standStill(_ chart: Subprocess) throws {
    chart.kill(SIGUSR1)
    try chart.wait(until: "the chart stands still") { chart.outputLines.last == "still" }
}
