/// A call of libopus that failed.
package struct OpusError: Error, Equatable, CustomStringConvertible {
    package let call: String
    /// Its negative code, `OPUS_BAD_ARG` and the like.
    package let code: Int32

    package var description: String { "\(call) failed (\(code)): see whether libopus is in order" }
}
