internal import CPixels

/// One implementation of the inner loops. All give the same bits; only tests and benchmarks need to choose.
package struct Kernels: Sendable {
    package static let fastest = vectorised ?? portable

    /// The reference, which runs anywhere.
    package static let portable = Kernels(table: pixels_portable_kernels)

    /// AVX2, or nil if the processor has none.
    package static let vectorised: Kernels? = {
        #if arch(x86_64)
            if pixels_has_avx2() { return Kernels(table: pixels_avx2_kernels) }
        #endif
        return nil
    }()

    let table: pixels_kernels
}
