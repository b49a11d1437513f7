package import Pixels

/// A part of the picture that has moved up or down unchanged.
package struct Scroll: Sendable {
    /// The longest move. A component of a VP8 vector has ten bits, in quarters of a row (RFC 6386 §17.2).
    package static let range = -255...255

    /// How many rows further down the content of `blocks` was before; never 0, negative for further up.
    package var rows: Int
    /// The moved macroblocks, at their new places.
    package var blocks: BlockSet
    /// Macroblocks of `blocks` whose colour is not exactly the same, because a chroma sample stands for two rows.
    package var tinted: BlockSet

    package init(rows: Int, blocks: BlockSet, tinted: BlockSet) {
        self.rows = rows
        self.blocks = blocks
        self.tinted = tinted
    }
}
