import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// A part of the source is shown to all.
extension Watch {
    @Suite struct ViewportTests {
        private let folder: TemporaryDirectory

        init() throws { folder = try TemporaryDirectory(of: .shared) }

        private func snapshot(_ web: WebBroadcast, _ name: String, width: Int, height: Int) throws -> RGBPicture {
            let path = folder.file(name)
            let authorization = "Authorization: Bearer \(WebBroadcast.token)"
            let url = "\(web.origin)/snapshot.png"
            try Subprocess.run(web.network.atViewer(["curl", "-sf", "-H", authorization, "-o", path, url]))
            let header = try contents(of: path)[16..<24]
            let size = [header.prefix(4), header.suffix(4)].map { $0.reduce(0) { $0 << 8 | Int($1) } }
            #expect(size == [width, height], "\(name)")
            return try RGBPicture(file: path, width: width, height: height)
        }

        /// The luma of a picture (BT.601), twice as large by the weights 3 and 1.
        private func enlarged(_ picture: RGBPicture) -> [Double] {
            let luma = luma(picture)
            func near(_ index: Int, _ length: Int) -> (Int, Int) {
                let (own, step) = (index / 2, index % 2 == 0 ? -1 : 1)
                return (own, min(max(own + step, 0), length - 1))
            }
            return (0..<2 * picture.height).flatMap { row in
                let (y, otherY) = near(row, picture.height)
                return (0..<2 * picture.width).map { column in
                    let (x, otherX) = near(column, picture.width)
                    func at(_ row: Int) -> Double {
                        (3 * luma[row * picture.width + x] + luma[row * picture.width + otherX]) / 4
                    }
                    return (3 * at(y) + at(otherY)) / 4
                }
            }
        }

        private func luma(_ picture: RGBPicture) -> [Double] {
            (0..<picture.width * picture.height).map { pixel in
                let parts = picture.bytes[3 * pixel..<3 * pixel + 3].map { Double($0) }
                return 0.299 * parts[0] + 0.587 * parts[1] + 0.114 * parts[2]
            }
        }

        private func decibels(_ one: [Double], _ other: [Double]) -> Double {
            let squares = zip(one, other).reduce(0) { $0 + ($1.0 - $1.1) * ($1.0 - $1.1) }
            return squares == 0 ? 99 : 10 * log10(255 * 255 * Double(one.count) / squares)
        }

        /// On the page and in snapshots, without a keyframe, and then the whole again.
        @Test(arguments: Browser.Kind.allCases) func aPartIsShownSharp(kind: Browser.Kind) throws {
            let web = try WebBroadcast("--viewers-control", "--events", folder.file("events"))
            let text = try draw("still", on: web.server)
            let browser = try web.open(kind)
            try browser.wait(forState: "live")
            let whole = try snapshot(web, "whole.png", width: 1280, height: 720)
            func sharpness(_ reference: [Double]) throws -> Double {
                guard let picture = try browser.picture() else { return 0 }
                return decibels(reference, luma(picture))
            }
            let wholeLuma = luma(whole)
            try wait(until: "the whole is sharp") { try sharpness(wholeLuma) >= 38 }
            let keyframes =
                "(await oriel.pc.getStats()).values().find(s => s.kind === 'video' && s.type === 'inbound-rtp').keyFramesDecoded"
            let before = kind == .chromium ? try browser.evaluate(keyframes, as: Int.self) : 0
            #expect(try web.broadcast.run("viewport", "320,180,960,540").code == 0)
            let part = try snapshot(web, "part.png", width: 640, height: 360)
            for row in 0..<360 {
                let start = 3 * ((180 + row) * 1280 + 320)
                let isEqual = part.bytes[3 * 640 * row..<3 * 640 * (row + 1)] == whole.bytes[start..<start + 3 * 640]
                if !isEqual { throw Unexpected("row \(row) of the snapshot is not that of the screen") }
            }
            let partLuma = enlarged(part)
            try wait(until: "the part is sharp") { try sharpness(partLuma) >= 38 }
            let status = try web.broadcast.run("status", "--json").output
            #expect(status.contains("\"viewport\":[320,180,960,540]"), "\(status)")
            if kind == .chromium { #expect(try browser.evaluate(keyframes, as: Int.self) == before) }
            // By the viewer itself.
            let command = """
                (await fetch(`${oriel.resource}/command`, { method: 'POST', body: '{"viewport":null}' })).status
                """
            #expect(try browser.evaluate(command, as: Int.self) == 204)
            try wait(until: "the whole is sharp again") { try sharpness(wholeLuma) >= 38 }
            #expect(try !web.broadcast.run("status", "--json").output.contains("\"viewport\":["))
            let events = try String(decoding: contents(of: folder.file("events")), as: UTF8.self)
            #expect(
                events.contains("\"event\":\"commanded\"") && events.contains("viewport 320,180,960,540"),
                "\(events)"
            )
            #expect(web.sender.errorOutput.contains("viewer 1 shows the whole screen"), "\(web.sender.errorOutput)")
            text.stop()
        }

        /// One sentence each, and nothing changes.
        @Test func aPartThatCannotBeIsRefused() throws {
            let web = try WebBroadcast()
            for (part, code, sentence) in [
                ("0,0,1282,720", 1, "the source is 1280x720"), ("2000,2000,3000,3000", 1, "the source is 1280x720"),
                ("0,0,63,36", 64, "at least 64 by 36"), ("640,360,0,0", 64, "at least 64 by 36"),
                ("1,1,2,2", 64, "64 by 36"),
                ("a,b,c,d", 64, "X1,Y1,X2,Y2"), ("0,0,640", 64, "X1,Y1,X2,Y2"), ("", 64, "X1,Y1,X2,Y2"),
                ("0,0,99999999999999999999,360", 64, "X1,Y1,X2,Y2"),
            ] {
                let result = try web.broadcast.run("viewport", part)
                #expect(result.code == Int32(code) && result.errorOutput.contains(sentence), "\(part): \(result)")
                #expect(result.errorOutput.split(whereSeparator: \.isNewline).count == 1, "\(result)")
            }
            #expect(try !web.broadcast.run("status", "--json").output.contains("\"viewport\":["))
        }
    }
}
