@_exported public import struct RTP.SplitMix64

/// The generator of tests that must repeat themselves.
package typealias SplitMix = SplitMix64
