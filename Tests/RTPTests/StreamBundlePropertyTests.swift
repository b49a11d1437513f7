import Testing
import Time

@testable import RTP

/// Random joins, losses, keyframes and pauses against the record of `SenderModel`.
@Suite struct StreamBundlePropertyTests {
    /// Those among the first seeds whose numbers wrap soon.
    static let wrapping = Array((1000...9000).filter { SenderModel.firstNumber(seed: $0) > 65_400 }.prefix(3))

    /// Invariant: oneEncode.
    @Test(arguments: Array(0..<20) + wrapping)
    func eachPacketIsTheOneThatThePlainRecordSays(seed: UInt64) throws {
        var model = SenderModel(seed: seed)
        for _ in 0..<Int.random(in: 0...3, using: &model.random) { model.append(isKeyframe: false) }
        for _ in 0..<400 {
            try step(&model)
        }
        // Whatever happened, the stream goes on with the next keyframe.
        model.now += .seconds(5)
        try model.drain()
        model.append(isKeyframe: true)
        for _ in 0..<2000 {
            try model.drain()
            _ = model.takeKeyframeRequest()
            guard case .at(let next) = model.place, next < model.archive.count else { break }
            model.now = max(model.now, try #require(model.sender.nextDeadline))
        }
        #expect(model.place == .at(model.archive.count))
        #expect(model.sent.count > 100)
    }

    private func step(_ model: inout SenderModel) throws {
        switch Int.random(in: 0..<20, using: &model.random) {
        case 0..<8:
            let isAsked = Bool.random(using: &model.random) && model.takeKeyframeRequest()
            model.append(isKeyframe: isAsked || Int.random(in: 0..<20, using: &model.random) == 0)
        case 8..<12: model.lose()
        case 12: model.losePicture()
        case 13: model.command()
        case 14: model.report()
        case 15 where Int.random(in: 0..<4, using: &model.random) == 0:
            // The network thread was held up, and many pictures came meanwhile.
            for _ in 0..<Int.random(in: 0...12, using: &model.random) {
                model.append(isKeyframe: Int.random(in: 0..<6, using: &model.random) == 0)
                model.now += .milliseconds(Int.random(in: 0...80, using: &model.random))
            }
        case 15..<18: model.now += .milliseconds(Int.random(in: 0...40, using: &model.random))
        default:
            // As a driver would: to the deadline, where something must be written.
            guard let deadline = model.sender.nextDeadline, deadline > model.now else { break }
            let before = (model.written, model.skips)
            model.now = deadline
            try model.drain()
            #expect((model.written, model.skips) != before || model.isToBeAsked, "woken for nothing")
        }
        model.now += .milliseconds(Int.random(in: 0...6, using: &model.random))
        try model.drain()
    }
}
