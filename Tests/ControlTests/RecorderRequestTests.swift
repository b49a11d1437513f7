import Control
import Media
import Testing

@Suite struct RecorderRequestTests {
    /// A sender that was taken over asks for anything.
    @Test(
        arguments: [
            (.status, true), (.trigger, true), (.replay(seconds: 5), true), (.change(clips: nil, version: 1), true),
            (.pause, false), (.resume, false), (.off, false), (.on, false), (.cut, false), (.mute, false),
            (.unmute, false),
        ] as [(RecorderRequest, Bool)]
    )
    func viewersEndNothing(request: RecorderRequest, isForViewers: Bool) {
        #expect(request.isForViewers == isForViewers)
    }
}
