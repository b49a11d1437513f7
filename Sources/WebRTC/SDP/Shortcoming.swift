/// A fault of a peer's description.
struct Shortcoming: Error {
    /// The fault, as the end of a sentence that begins with "the offer" or "the answer".
    let what: String
    /// The text that should stand there instead.
    var remedy = ""
}
