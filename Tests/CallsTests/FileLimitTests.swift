import Glibc
import Posix
import Testing

@Suite struct FileLimitTests {
    @Test func theLimitIsRaisedAsFarAsItMay() {
        var before = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &before)
        // Not lowered, for the other tests of this process.
        #expect(FileLimit.raise(to: 16) == Int(clamping: before.rlim_cur))
        let most = Int(clamping: min(before.rlim_max, before.rlim_cur + 1))
        #expect(FileLimit.raise(to: most) == most)
        var after = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &after)
        #expect(Int(clamping: after.rlim_cur) == most)
        #expect(after.rlim_max == before.rlim_max)
    }
}
