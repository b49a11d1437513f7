/// Why a process ends without having done its work: an exit code and one sentence for a person.
package struct Failure: Error, Equatable, CustomStringConvertible {
    package enum Code: Int32 {
        case failed = 1
        /// EX_USAGE of sysexits.h.
        case usage = 64
        /// EX_UNAVAILABLE: the X server or the host of the call is not there.
        case unavailable = 69
        /// EX_TEMPFAIL: there is no broadcast, or it does not answer; try again later.
        case tryAgain = 75
        /// EX_NOPERM: the other side does not let this one in, or has sent it away.
        case refused = 77
    }

    package let code: Code
    package let sentence: String

    package init(_ code: Code, _ sentence: String) {
        self.code = code
        self.sentence = sentence
    }

    /// The parser of arguments shows this of what is thrown while it works.
    package var description: String { sentence }
}
