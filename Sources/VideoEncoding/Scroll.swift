package import Pixels

/// A part of the picture that has moved upwards or downwards as it was.
package struct Scroll: Sendable {
    /// How far a part may move: a component of a VP8 vector has ten bits, in quarters of a row (RFC 6386 §17.2).
    package static let range = -255...255

    /// How many rows further down each macroblock of `blocks` was before; not 0, negative for further up.
    package var rows: Int
    /// The macroblocks that show what stood there before.
    package var blocks: BlockSet
    /// Those of `blocks` whose colour is not exactly the same, because a chroma sample stands for two rows.
    package var tinted: BlockSet

    package init(rows: Int, blocks: BlockSet, tinted: BlockSet) {
        self.rows = rows
        self.blocks = blocks
        self.tinted = tinted
    }
}
