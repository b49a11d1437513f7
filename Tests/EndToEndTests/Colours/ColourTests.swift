import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// Viewers see the colours of the screen, in red, green and blue.
extension Colours {
    @Suite struct ColourTests {
        /// While a square travels over the screen and cells change, and once all stands still; then a counter.
        /// Invariant: exact.
        @Test(arguments: Browser.Kind.allCases, ["vp8", "vp9", "av1"])
        func aBrowserShowsTheColoursOfTheScreen(kind: Browser.Kind, codec: String) throws {
            let web = try WebBroadcast("--codec", codec)
            let chart = try draw("chart", on: web.server, "--rate", "10")
            let browser = try web.open(kind)
            try browser.wait(forState: "live")
            let first = ColourChart(chart)?.beat ?? 0
            try wait(until: "the chart changes for a while") { ColourChart(chart)?.beat ?? 0 > first + 15 }
            try standStill(chart)
            try waitForColours(of: chart, codec) { try browser.picture() }
            try browser.screenshot(try artefact("\(kind.rawValue)-\(codec).png"))
            chart.stop()
            let counter = try draw("counter", on: web.server)
            var number: Int?
            try wait(until: "the counter goes on") {
                let former = number
                number = try browser.number()
                return former.map { number ?? 0 > $0 } ?? false
            }
            #expect(try browser.statistic("codec").lowercased() == codec)
            #expect(try browser.evaluate("document.querySelector('video').videoWidth", as: Int.self) == 1280)
            #expect(try browser.evaluate("oriel.pc.getReceivers()[0].jitterBufferTarget", as: Int.self) == 0)
            counter.stop()
        }

        /// A part of the screen that is shown to all, twice as large.
        @Test(arguments: ["vp8", "vp9", "av1"]) func aPartHasItsColours(codec: String) throws {
            let web = try WebBroadcast("--codec", codec)
            let chart = try stillChart(on: web.server)
            let browser = try web.open(.chromium)
            try browser.wait(forState: "live")
            for (x, y) in [(320, 180), (0, 0), (640, 360)] {
                #expect(try web.broadcast.run("viewport", "\(x),\(y),\(x + 640),\(y + 360)").code == 0)
                try waitForColours(of: chart, codec) { whole in
                    whole.magnified(x: x, y: y, width: 640, height: 360, by: 2)
                } _: {
                    try browser.picture()
                }
            }
            chart.stop()
        }

        /// libwebrtc, ffmpeg's decoder behind aiortc, and GStreamer, each with its own conversion.
        @Test(
            arguments: [
                (.wrtc, "VP8"), (.wrtc, "VP9"), (.wrtc, "AV1"), (.aiortc, "VP8"), (.gstreamer, "VP8"),
                (.gstreamer, "VP9"),
            ] as [(Counterparts.Stack, String)]
        )
        func aViewerDecodesTheColoursOfTheScreen(stack: Counterparts.Stack, codec: String) throws {
            let web = try WebBroadcast("--codec", codec.lowercased())
            let chart = try stillChart(on: web.server)
            let path = web.broadcast.folder.file("last.png")
            try waitForColours(of: chart, codec, by: stack == .gstreamer ? .gstreamer : .exact) {
                _ = try web.view(stack, "--codec", codec, "--png", path, "--seconds", "6")
                return access(path, R_OK) == 0 ? try RGBPicture(file: path, width: 1280, height: 720) : nil
            }
            chart.stop()
        }

        /// Plain RTP, in receivers that know no more than the session description.
        /// Invariant: exact.
        @Test(
            arguments: [
                (.ffmpeg, "vp8"), (.ffmpeg, "vp9"), (.newerFFmpeg, "av1"), (.gstreamer, "vp8"), (.gstreamer, "vp9"),
            ] as [(Receiver.Kind, String)]
        )
        func aPlainReceiverShowsTheColoursOfTheScreen(kind: Receiver.Kind, codec: String) throws {
            let server = try XServer(.virtual(width: 1280, height: 720))
            try receive(by: kind, codec, from: server)
        }

        /// The last column and the last row are alone in their chroma samples.
        @Test func oddSizesHaveNoFringe() throws {
            let server = try XServer(.virtual(width: 1280, height: 720))
            try receive(by: .ffmpeg, "vp8", from: server, ["--region", "1279x719+0+0"])
        }

        /// A screen of 4:3 between two black bars.
        @Test(arguments: ["vp8", "vp9"]) func barsAreBlackUpToTheEdge(codec: String) throws {
            let server = try XServer(.virtual(width: 960, height: 720))
            try receive(by: .ffmpeg, codec, from: server) { picture in
                let bars = [picture.cropped(to: 0..<160), picture.cropped(to: 1120..<1280)]
                return bars.allSatisfy { $0.bytes.allSatisfy { $0 <= 16 } } ? picture.cropped(to: 160..<1120) : nil
            }
        }

        @Test(arguments: [15, 16, 24, 30]) func everyDepthHasItsColours(depth: Int) throws {
            try receive(by: .ffmpeg, "vp8", from: XServer(.virtual(width: 1280, height: 720, depth: depth)))
        }

        /// - Parameter part: what of a received picture shows the screen; nil while another part of it is wrong.
        private func receive(
            by kind: Receiver.Kind,
            _ codec: String,
            from server: XServer,
            _ options: [String] = [],
            part: (RGBPicture) -> RGBPicture? = { $0 }
        ) throws {
            let broadcast = try Broadcast(on: server.display)
            let capture = try broadcast.start(["--no-cursor"] + options)
            let chart = try draw("chart", on: server, "--rate", "10")
            let port = try Ports.free(AF_INET)
            let call = "rtp://127.0.0.1:\(port)"
            let arguments = ["--codec", codec]
            let early = try broadcast.attach(to: call, sdp: broadcast.sdp, arguments)
            let sdp = String(decoding: try contents(of: broadcast.sdp), as: UTF8.self)
            early.stop()
            let receiver = try Receiver(kind, sdp: sdp, port: port, as: .rgb, in: broadcast.folder)
            try wait(until: "the receiver listens") { try Ports.isTaken(port) }
            let sender = try broadcast.attach(to: call, sdp: broadcast.sdp, arguments)
            try wait(until: "the chart changes for a while") { ColourChart(chart)?.beat ?? 0 > 15 }
            try standStill(chart)
            try waitForColours(of: chart, codec, by: kind == .gstreamer ? .gstreamer : .exact) {
                try receiver.requireRunning()
                return receiver.lastFrame.flatMap { part(RGBPicture(width: 1280, height: 720, bytes: $0)) }
            }
            for process in [sender, chart, capture] { process.stop() }
            receiver.stop()
        }

        private func artefact(_ name: String) throws -> String {
            let folder = "\(TestPrograms.repository)/.build/artefacts"
            mkdir(folder, 0o755)
            return "\(folder)/\(name)"
        }
    }
}

extension Browser {
    /// The picture on the page, as the browser paints it; nil before there is one.
    func picture() throws -> RGBPicture? {
        let script = """
            (() => {
                const video = document.querySelector('video');
                const canvas = document.createElement('canvas');
                [canvas.width, canvas.height] = [video.videoWidth, video.videoHeight];
                if (!canvas.width) return null;
                const context = canvas.getContext('2d');
                context.drawImage(video, 0, 0);
                const {data} = context.getImageData(0, 0, canvas.width, canvas.height);
                const parts = [];
                for (let start = 0; start < data.length; start += 32768) {
                    parts.push(String.fromCharCode(...data.subarray(start, start + 32768)));
                }
                return {width: canvas.width, height: canvas.height, rgba: btoa(parts.join(''))};
            })()
            """
        struct Picture: Decodable {
            let width: Int
            let height: Int
            let rgba: Data
        }
        guard let picture = try evaluateOptional(script, as: Picture.self) else { return nil }
        let rgba = [UInt8](picture.rgba)
        var rgb = [UInt8](repeating: 0, count: rgba.count / 4 * 3)
        for pixel in 0..<rgba.count / 4 {
            for channel in 0..<3 { rgb[3 * pixel + channel] = rgba[4 * pixel + channel] }
        }
        return RGBPicture(width: picture.width, height: picture.height, bytes: rgb)
    }
}
